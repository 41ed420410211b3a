// Two operands of one type: z = F()(x, y), for T among float, double and, where F says so, int64_t, uint64_t and
// complex numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/host_device.h"
#include "kernel/scalar/integer.h"
#include "kernel/scalar/unary.h"

namespace sbp::scalar {

struct AddOf : AllNumbers {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return WrapAdd(a, b);
    else
      return a + b;
  }
};
struct SubOf : AllNumbers {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return WrapSub(a, b);
    else
      return a - b;
  }
};
struct MulOf : AllNumbers {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return WrapMul(a, b);
    else
      return a * b;
  }
};

// Integers: towards 0. What has no result is 0, and *undefined becomes true.
struct DivOf : AllNumbers {
  bool* undefined = nullptr;
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) *undefined = true;
      return b == 0 ? T{0} : Quotient(a, b);
    } else {
      return a / b;
    }
  }
};
// The remainder, with the sign of the divisor, or (`truncated`: fmod) of the dividend.
struct ModOf : RealAndInteger {
  bool truncated = false;
  bool* undefined = nullptr;
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) *undefined = true;
      if (b == 0) return T{0};
      return truncated ? Remainder(a, b) : Modulo(a, b);
    } else {
      const T r = std::fmod(a, b);
      return !truncated && r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
  }
};

// The larger; NaN when either is.
struct MaxOf : RealAndInteger {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return a > b || a != a ? a : b;
    else
      return a > b ? a : b;
  }
};
struct MinOf : RealAndInteger {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return a < b || a != a ? a : b;
    else
      return a < b ? a : b;
  }
};

struct PowOf : RealAndInteger {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return IntegerPower(a, b);
    else
      return std::pow(a, b);
  }
};

// Comparisons.
struct EqualTo : AllNumbers {
  template <typename T>
  SBP_HD bool operator()(T a, T b) const {
    return a == b;
  }
};
struct GreaterThan : RealAndInteger {
  template <typename T>
  SBP_HD bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterOrEqual : RealAndInteger {
  template <typename T>
  SBP_HD bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct LessThan : RealAndInteger {
  template <typename T>
  SBP_HD bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessOrEqual : RealAndInteger {
  template <typename T>
  SBP_HD bool operator()(T a, T b) const {
    return a <= b;
  }
};

// Bits of unsigned integers of any width.
struct BitAnd {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
// In 64 bits, signed operands with their sign extended. Shifted by less than 0, or by the type's width or more, the
// sign alone is left of a signed value that goes right, else 0 (ONNX's BitShift of opset 28, which says what was open
// before).
struct BitShiftOf {
  bool left = true, is_signed = false;
  uint64_t bits = 64;  // of the type
  SBP_HD uint64_t operator()(uint64_t a, uint64_t b) const {
    const bool arithmetic = is_signed && !left;
    const bool negative = arithmetic && static_cast<int64_t>(a) < 0;
    if (b >= bits) return negative ? ~uint64_t{0} : 0;
    if (left) return a << b;
    return negative ? ~(~a >> b) : a >> b;
  }
};

}  // namespace sbp::scalar
