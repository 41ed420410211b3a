// A small generator of random numbers with the same stream on every machine (SplitMix64, Steele et al. 2014).
#pragma once

#include <cstdint>

namespace sbp {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, count); count > 0.
  int32_t Below(int64_t count) { return static_cast<int32_t>(Next() % static_cast<uint64_t>(count)); }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace sbp
