// One operand: y = F()(x), for T among float, double and, where F says so, int64_t, uint64_t and complex numbers.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "base/host_device.h"
#include "kernel/scalar/exp.h"
#include "kernel/scalar/integer.h"

namespace sbp::scalar {

struct RealOnly {
  static constexpr bool kIntegers = false, kComplex = false;
};
struct RealAndComplex {
  static constexpr bool kIntegers = false, kComplex = true;
};
struct RealAndInteger {
  static constexpr bool kIntegers = true, kComplex = false;
};
struct AllNumbers {
  static constexpr bool kIntegers = true, kComplex = true;
};

// A function of the standard library that has overloads for float and double.
#define SBP_STANDARD_FUNCTION(Name, function) \
  struct Name : RealOnly {                    \
    template <typename T>                     \
    SBP_HD T operator()(T x) const {          \
      return std::function(x);                \
    }                                         \
  }
SBP_STANDARD_FUNCTION(AcosOf, acos);
SBP_STANDARD_FUNCTION(AcoshOf, acosh);
SBP_STANDARD_FUNCTION(AsinOf, asin);
SBP_STANDARD_FUNCTION(AsinhOf, asinh);
SBP_STANDARD_FUNCTION(AtanOf, atan);
SBP_STANDARD_FUNCTION(AtanhOf, atanh);
SBP_STANDARD_FUNCTION(CeilOf, ceil);
SBP_STANDARD_FUNCTION(CosOf, cos);
SBP_STANDARD_FUNCTION(CoshOf, cosh);
SBP_STANDARD_FUNCTION(ErfOf, erf);
SBP_STANDARD_FUNCTION(FloorOf, floor);
SBP_STANDARD_FUNCTION(LogOf, log);
SBP_STANDARD_FUNCTION(RoundOf, nearbyint);  // ties to even
SBP_STANDARD_FUNCTION(SinOf, sin);
SBP_STANDARD_FUNCTION(SinhOf, sinh);
SBP_STANDARD_FUNCTION(SqrtOf, sqrt);
SBP_STANDARD_FUNCTION(TanOf, tan);
#undef SBP_STANDARD_FUNCTION

struct AbsOf : RealAndInteger {
  template <typename T>
  SBP_HD T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else
      return x < T{0} ? WrapNeg(x) : x;
  }
};
struct ExpOf : RealAndComplex {
  template <typename T>
  SBP_HD T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return Exp(x);
    else
      return std::exp(x);
  }
};
struct NegOf : AllNumbers {
  template <typename T>
  SBP_HD T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return WrapNeg(x);
    else
      return -x;
  }
};
struct ReciprocalOf : RealAndComplex {
  template <typename T>
  SBP_HD T operator()(T x) const {
    return T{1} / x;
  }
};
struct SigmoidOf : RealOnly {
  template <typename T>
  SBP_HD T operator()(T x) const {
    return Sigmoid(x);
  }
};
struct SignOf : RealAndInteger {
  template <typename T>
  SBP_HD T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x) return x;
    }
    return x > T{0} ? T{1} : x < T{0} ? static_cast<T>(-1) : T{0};
  }
};
struct TanhOf : RealOnly {
  template <typename T>
  SBP_HD T operator()(T x) const {
    return Tanh(x);
  }
};

// Predicates.
struct IsNanOf : RealOnly {
  template <typename T>
  SBP_HD bool operator()(T x) const {
    return x != x;
  }
};
struct IsInfOf : RealOnly {
  bool positive = true, negative = true;
  template <typename T>
  SBP_HD bool operator()(T x) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return (positive && x == kInfinity) || (negative && x == -kInfinity);
  }
};

}  // namespace sbp::scalar
