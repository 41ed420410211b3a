// Integer arithmetic that wraps around and never traps. T: int64_t or uint64_t; narrower types are computed in these
// and cut when they are stored.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/host_device.h"

namespace sbp::scalar {

template <typename T>
SBP_HD T WrapAdd(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T>
SBP_HD T WrapSub(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename T>
SBP_HD T WrapMul(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <typename T>
SBP_HD T WrapNeg(T a) {
  return static_cast<T>(0 - static_cast<uint64_t>(a));
}

// Towards 0; b is not 0.
template <typename T>
SBP_HD T Quotient(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return WrapNeg(a);
  }
  return a / b;
}
// Of the sign of the dividend; b is not 0.
template <typename T>
SBP_HD T Remainder(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return a % b;
}
// Of the sign of the divisor; b is not 0.
template <typename T>
SBP_HD T Modulo(T a, T b) {
  const T r = Remainder(a, b);
  if constexpr (std::is_signed_v<T>) {
    if (r != 0 && (r < 0) != (b < 0)) return r + b;
  }
  return r;
}

// base^exponent; of a negative exponent the integer part, which is 0 but for 1 and -1.
template <typename T, typename E>
SBP_HD T IntegerPower(T base, E exponent) {
  if constexpr (std::is_signed_v<E>) {
    if (exponent < 0) {
      if (base == T{1}) return T{1};
      if constexpr (std::is_signed_v<T>) {
        if (base == T{-1}) return exponent % 2 == 0 ? T{1} : T{-1};
      }
      return T{0};
    }
  }
  T result{1};
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if ((e & 1) != 0) result = WrapMul(result, base);
    base = WrapMul(base, base);
  }
  return result;
}

}  // namespace sbp::scalar
