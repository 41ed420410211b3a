// From floats to integers, as Cast rounds: cut towards 0; what the type cannot hold wraps (8 and 16 bits) or becomes
// the nearest limit, NaN becomes 0. From integers: wraps.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/host_device.h"

namespace sbp::scalar {

// Within [low, high], NaN as 0; both limits are values of Float.
template <typename Float>
SBP_HD Float Within(Float v, Float low, Float high) {
  v = v != v ? Float{0} : v;
  v = v < low ? low : v;
  return v > high ? high : v;
}

// Wide: float, double, int64_t or uint64_t.
template <typename T, typename Wide>
SBP_HD T ToInteger(Wide v) {
  if constexpr (std::is_integral_v<Wide>) {
    return static_cast<T>(v);
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<T>(static_cast<int32_t>(Within<double>(v, -2147483648.0, 2147483647.0)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(Within<double>(v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::is_signed_v<T>) {
    return v >= Wide(0x1p63) ? std::numeric_limits<T>::max() : static_cast<T>(Within<Wide>(v, -0x1p63, 0x1p63));
  } else {
    if (v >= Wide(0x1p64)) return std::numeric_limits<T>::max();
    if (v < 0) return static_cast<T>(ToInteger<int64_t>(v));
    return v != v ? 0 : static_cast<T>(v);
  }
}

// The low bits of an integer of 4 or 2 bits in a byte, extended by its sign if it has one.
template <int kBits, bool kSigned, typename Wide>
SBP_HD uint8_t ToSmallInteger(Wide v) {
  const auto low = static_cast<uint8_t>(ToInteger<uint8_t>(v) << (8 - kBits));
  return kSigned ? static_cast<uint8_t>(static_cast<int8_t>(low) >> (8 - kBits))
                 : static_cast<uint8_t>(low >> (8 - kBits));
}

}  // namespace sbp::scalar
