// Random numbers by counter: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A
// number depends on the key and its own counter only, so that any part of a tensor can be drawn alone.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/dtype.h"
#include "base/host_device.h"

namespace sbp::scalar {

struct RandomWords {
  uint32_t w[4];
};

SBP_HD inline RandomWords Philox(uint64_t key, uint64_t counter) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  uint32_t x0 = static_cast<uint32_t>(counter), x1 = static_cast<uint32_t>(counter >> 32), x2 = 0, x3 = 0;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMultiplier0) * x0, p1 = static_cast<uint64_t>(kMultiplier1) * x2;
    x0 = static_cast<uint32_t>(p1 >> 32) ^ x1 ^ k0;
    x1 = static_cast<uint32_t>(p1);
    x2 = static_cast<uint32_t>(p0 >> 32) ^ x3 ^ k1;
    x3 = static_cast<uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{x0, x1, x2, x3}};
}

// In [0, 1), a multiple of 2^-53, from two words.
SBP_HD inline double UnitInterval(uint32_t high, uint32_t low) {
  return static_cast<double>(((static_cast<uint64_t>(high) << 32) | low) >> 11) * 0x1p-53;
}

// In [0, 1), also when it is rounded to the type: bf16 would have a 1 in 512 draws, of which logarithms are infinite.
SBP_HD inline double Uniform(uint64_t key, uint64_t counter, DType type) {
  const RandomWords words = Philox(key, counter);
  const double gap = type == DType::kF64   ? 0x1p-53  // from 1 to the largest number below it
                     : type == DType::kF32 ? 0x1p-24
                     : type == DType::kF16 ? 0x1p-11
                                           : 0x1p-8;
  const double drawn = UnitInterval(words.w[0], words.w[1]);
  return drawn > 1 - gap ? 1 - gap : drawn;
}

// Of mean 0 and variance 1, by Box and Muller.
SBP_HD inline double Normal(uint64_t key, uint64_t counter) {
  const RandomWords words = Philox(key, counter);
  const double radius = std::sqrt(-2 * std::log(1 - UnitInterval(words.w[0], words.w[1])));
  return radius * std::cos(6.283185307179586 * UnitInterval(words.w[2], words.w[3]));
}

}  // namespace sbp::scalar
