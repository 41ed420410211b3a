// exp of floats without branches, so that loops over it become vector code: within one unit in the last place.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "kernel/scalar/half.h"

namespace sbp::scalar {

SBP_HD inline double Exp(double x) { return std::exp(x); }

SBP_HD inline float Exp(float x) {
  // Beyond these the result is 0 or infinity; NaN passes through.
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  // x = n ln 2 + r, |r| <= ln(2)/2: adding 1.5 * 2^23 leaves n in the last bits. ln 2 is in two parts, the first one
  // with so few digits that n times it is exact.
  constexpr float kShift = 12582912.0f, kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  const float shifted = x * kLog2E + kShift, n = shifted - kShift;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  // The Taylor series: its first term left out is below 2^-26.
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  // 2^n in two factors, each of a normal exponent.
  const int32_t exponent = static_cast<int32_t>(BitsOf(shifted)) - 0x4b400000;
  const int32_t first = exponent >> 1, second = exponent - first;
  p *= FloatOf(static_cast<uint32_t>(first + 127) << 23);
  return p * FloatOf(static_cast<uint32_t>(second + 127) << 23);
}

SBP_HD inline double Tanh(double x) { return std::tanh(x); }

SBP_HD inline float Tanh(float x) {
  const float magnitude = std::fabs(x);
  // Large: from exp. Small, where that cancels: the continued fraction of tanh, cut where it is exact to a float.
  const float large = 1.0f - 2.0f / (Exp(2.0f * magnitude) + 1.0f);
  const float z = magnitude < 0.625f ? x * x : 0.0f;
  const float small = x * (945.0f + z * (105.0f + z)) / (945.0f + z * (420.0f + z * 15.0f));
  return magnitude < 0.625f ? small : (x < 0 ? -large : large);
}

template <typename T>
SBP_HD T Sigmoid(T x) {
  return T{1} / (T{1} + Exp(-x));
}

}  // namespace sbp::scalar
