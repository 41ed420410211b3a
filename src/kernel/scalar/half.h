// The 16-bit floats as bit patterns: fast conversion from and to float, ties to even, without branches so that loops
// over them become vector code. GPUs have instructions for it.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/host_device.h"

namespace sbp {

namespace scalar {

SBP_HD inline uint32_t BitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
SBP_HD inline float FloatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

SBP_HD inline float HalfToFloat(uint16_t half) {
#ifdef __CUDA_ARCH__
  float converted;
  asm("cvt.f32.f16 %0, %1;" : "=f"(converted) : "h"(half));
  return converted;
#else
  const uint32_t magnitude = half & 0x7fffu;
  // Moving the fields leaves an exponent that is 112 too small, right for subnormal numbers too.
  float value = FloatOf(magnitude << 13) * 0x1p112f;
  const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0;  // infinity and NaN keep the largest exponent
  return FloatOf(BitsOf(value) | special | (static_cast<uint32_t>(half & 0x8000u) << 16));
#endif
}

SBP_HD inline uint16_t FloatToHalf(float value) {
#ifdef __CUDA_ARCH__
  uint16_t converted;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(converted) : "f"(value));
  return converted;
#else
  const uint32_t bits = BitsOf(value), magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
  // Normal numbers: rebase the exponent, add half a unit (less one on an even last bit) and cut.
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal ones: adding 0.5 aligns their unit with the last bit of a float, and rounds.
  const uint32_t subnormal = BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477ff000u ? large : half;  // 65520 and above round to infinity
  return static_cast<uint16_t>(half | sign);
#endif
}

SBP_HD inline float BFloatToFloat(uint16_t bfloat) { return FloatOf(static_cast<uint32_t>(bfloat) << 16); }

SBP_HD inline uint16_t FloatToBFloat(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = 0x7fc0u | (bits >> 31 << 15);
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

}  // namespace scalar
}  // namespace sbp
