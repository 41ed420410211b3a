// Values of the narrow float types: their layouts, exact decoding, and rounding to the nearest, ties to even.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "base/dtype.h"
#include "base/host_device.h"

namespace sbp {

// The layout of a float type of at most 16 bits: sign, exponent, mantissa.
struct FloatLayout {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  bool has_sign = true;
  // What the largest exponent and the negative zero mean.
  enum class Special : uint8_t { kIeee, kNanAllOnes, kNanNegativeZero, kNone } special = Special::kIeee;
};

inline constexpr FloatLayout kF16Layout{5, 10, 15, true, FloatLayout::Special::kIeee};
inline constexpr FloatLayout kBF16Layout{8, 7, 127, true, FloatLayout::Special::kIeee};
inline constexpr FloatLayout kF8E4M3FNLayout{4, 3, 7, true, FloatLayout::Special::kNanAllOnes};
inline constexpr FloatLayout kF8E4M3FNUZLayout{4, 3, 8, true, FloatLayout::Special::kNanNegativeZero};
inline constexpr FloatLayout kF8E5M2Layout{5, 2, 15, true, FloatLayout::Special::kIeee};
inline constexpr FloatLayout kF8E5M2FNUZLayout{5, 2, 16, true, FloatLayout::Special::kNanNegativeZero};
inline constexpr FloatLayout kF4E2M1Layout{2, 1, 1, true, FloatLayout::Special::kNone};
inline constexpr FloatLayout kF8E8M0Layout{8, 0, 127, false, FloatLayout::Special::kNanAllOnes};

// Nothing for types that are wider, or no floats.
constexpr std::optional<FloatLayout> LayoutOf(DType type) {
  switch (type) {
    case DType::kF16:
      return kF16Layout;
    case DType::kBF16:
      return kBF16Layout;
    case DType::kF8E4M3FN:
      return kF8E4M3FNLayout;
    case DType::kF8E4M3FNUZ:
      return kF8E4M3FNUZLayout;
    case DType::kF8E5M2:
      return kF8E5M2Layout;
    case DType::kF8E5M2FNUZ:
      return kF8E5M2FNUZLayout;
    case DType::kF4E2M1:
      return kF4E2M1Layout;
    case DType::kF8E8M0:
      return kF8E8M0Layout;
    default:
      return std::nullopt;
  }
}

// 2^exponent for -1022 <= exponent <= 1023.
SBP_HD inline double PowerOfTwo(int exponent) {
  const uint64_t bits = static_cast<uint64_t>(exponent + 1023) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// The value of the bit pattern in the low bits.
SBP_HD inline double DecodeMinifloat(const FloatLayout& layout, uint32_t bits) {
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
    return sign * mantissa * PowerOfTwo(1 - layout.bias - layout.mantissa_bits);
  }
  return sign * (mantissa + (mantissa_mask + 1.0)) *
         PowerOfTwo(static_cast<int>(exponent) - layout.bias - layout.mantissa_bits);
}

// The nearest value's bit pattern, ties to even; not for f8e8m0. What is too large (infinity too) becomes the largest
// value when `saturate`, else infinity, or NaN in types without one; f4e2m1 has neither and always saturates; of NaN it
// makes -0, and of NaN with its sign bit set 0 (as ml_dtypes, which ONNX's node tests are made with).
SBP_HD inline uint32_t EncodeMinifloat(const FloatLayout& layout, double value, bool saturate) {
  using Special = FloatLayout::Special;
  const uint32_t sign_bit = 1u << (layout.mantissa_bits + layout.exponent_bits);
  const uint32_t exponent_mask = ((1u << layout.exponent_bits) - 1) << layout.mantissa_bits;
  uint32_t largest = sign_bit - 1;  // also the pattern of NaN where that is all ones
  uint32_t nan = largest;
  if (layout.special == Special::kIeee) {
    largest = exponent_mask - 1;
    nan = exponent_mask | (1u << (layout.mantissa_bits - 1));
  } else if (layout.special == Special::kNanAllOnes) {
    largest -= 1;
  } else if (layout.special == Special::kNanNegativeZero) {
    nan = sign_bit;
  }
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = (bits >> 63) != 0 ? sign_bit : 0;
  if (layout.special == Special::kNone) nan = sign_bit - sign;
  if (value != value) return nan;
  // One unit in the last place is 2^(exponent - mantissa_bits); below the normal numbers it stays the same.
  int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  uint32_t code = ~0u;  // too large
  if (exponent <= 128) {
    if (exponent < 1 - layout.bias) exponent = 1 - layout.bias;
    const double units = std::nearbyint(std::fabs(value) * PowerOfTwo(layout.mantissa_bits - exponent));
    code = (static_cast<uint32_t>(exponent + layout.bias - 1) << layout.mantissa_bits) + static_cast<uint32_t>(units);
  }
  if (code > largest) {
    if (saturate || layout.special == Special::kNone) return sign | largest;
    return layout.special == Special::kIeee ? sign | exponent_mask : nan;
  }
  return code == 0 && layout.special == Special::kNanNegativeZero ? 0 : sign | code;
}

// How Cast rounds to f8e8m0, which has powers of two only.
enum class ScaleRounding : uint8_t { kUp, kDown, kNearest };

// The sign is dropped; infinity and NaN become NaN; 0 the smallest value, 2^-127. What is too large after rounding
// becomes the largest value when `saturate`, else NaN. Ties go up.
SBP_HD inline uint32_t EncodeScale(float value, bool saturate, ScaleRounding rounding) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t exponent = (bits >> 23) & 0xff, fraction = bits & 0x7fffff, half = 0x400000;
  if (exponent == 0xff) return 0xff;
  bool up = false;
  if (rounding == ScaleRounding::kUp) {
    // Subnormal numbers: 2^-127 itself, and what is smaller, is the smallest value.
    up = exponent == 0 ? fraction > half : fraction != 0;
  } else if (rounding == ScaleRounding::kNearest) {
    // 2^-127 and 2^-126 meet at 1.5 * 2^-127.
    up = exponent == 0 ? fraction >= half + half / 2 : fraction >= half;
  }
  if (!up) return exponent;
  return exponent == 0xfe && saturate ? 0xfe : exponent + 1;
}

}  // namespace sbp
