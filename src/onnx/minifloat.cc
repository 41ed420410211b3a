#include "onnx/minifloat.h"

#include <cmath>
#include <limits>

namespace sbp {

std::optional<FloatLayout> LayoutOf(DType type) {
  using Special = FloatLayout::Special;
  switch (type) {
    case DType::kF16:
      return FloatLayout{5, 10, 15, true, Special::kIeee};
    case DType::kBF16:
      return FloatLayout{8, 7, 127, true, Special::kIeee};
    case DType::kF8E4M3FN:
      return FloatLayout{4, 3, 7, true, Special::kNanAllOnes};
    case DType::kF8E4M3FNUZ:
      return FloatLayout{4, 3, 8, true, Special::kNanNegativeZero};
    case DType::kF8E5M2:
      return FloatLayout{5, 2, 15, true, Special::kIeee};
    case DType::kF8E5M2FNUZ:
      return FloatLayout{5, 2, 16, true, Special::kNanNegativeZero};
    case DType::kF4E2M1:
      return FloatLayout{2, 1, 1, true, Special::kNone};
    case DType::kF8E8M0:
      return FloatLayout{8, 0, 127, false, Special::kNanAllOnes};
    default:
      return std::nullopt;
  }
}

double DecodeMinifloat(const FloatLayout& layout, uint32_t bits) {
  using Special = FloatLayout::Special;
  const uint32_t mantissa_mask = (1u << layout.mantissa_bits) - 1;
  const uint32_t exponent_mask = (1u << layout.exponent_bits) - 1;
  const uint32_t mantissa = bits & mantissa_mask;
  const uint32_t exponent = (bits >> layout.mantissa_bits) & exponent_mask;
  const bool negative = layout.has_sign && ((bits >> (layout.mantissa_bits + layout.exponent_bits)) & 1) != 0;
  const double sign = negative ? -1.0 : 1.0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (layout.special == Special::kNanNegativeZero && negative && exponent == 0 && mantissa == 0) return nan;
  if (exponent == exponent_mask) {
    if (layout.special == Special::kIeee) return mantissa != 0 ? nan : sign * std::numeric_limits<double>::infinity();
    if (layout.special == Special::kNanAllOnes && mantissa == mantissa_mask) return nan;
  }
  // Without a mantissa (the scale type f8e8m0) there are no subnormal numbers: exponent 0 is 2^-bias.
  if (exponent == 0 && layout.mantissa_bits > 0) {
    return sign * std::ldexp(mantissa, 1 - layout.bias - layout.mantissa_bits);
  }
  return sign *
         std::ldexp(mantissa + (mantissa_mask + 1.0), static_cast<int>(exponent) - layout.bias - layout.mantissa_bits);
}

}  // namespace sbp
