// Complex numbers on a device, laid out as std::complex.
#pragma once

#include <cmath>

#include "base/host_device.h"

namespace sbp::SBP_GPU_BUILD {

template <typename T>
struct alignas(2 * sizeof(T)) Complex {
  using Part = T;
  T re, im;

  Complex() = default;
  SBP_HD Complex(T re, T im = 0) : re(re), im(im) {}  // NOLINT(google-explicit-constructor): reals are complex numbers
  template <typename U>
  SBP_HD explicit Complex(const Complex<U>& other) : re(static_cast<T>(other.re)), im(static_cast<T>(other.im)) {}

  SBP_HD Complex operator-() const { return {-re, -im}; }
  SBP_HD friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  SBP_HD friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  SBP_HD friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // By the larger part of the divisor, so that its square does not overflow (Smith, CACM 5(8), 1962).
  SBP_HD friend Complex operator/(Complex a, Complex b) {
    if (std::fabs(b.re) >= std::fabs(b.im)) {
      const T r = b.im / b.re, d = b.re + b.im * r;
      return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
    }
    const T r = b.re / b.im, d = b.re * r + b.im;
    return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
  }
  SBP_HD friend bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
};

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<Complex<T>> = true;

}  // namespace sbp::SBP_GPU_BUILD
