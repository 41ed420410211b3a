// Values of the narrow float types.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

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

// Nothing for types that are wider, or no floats.
std::optional<FloatLayout> LayoutOf(DType type);

// The value of the bit pattern in the low bits.
double DecodeMinifloat(const FloatLayout& layout, uint32_t bits);

}  // namespace sbp
