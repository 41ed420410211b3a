// Elements as words of their size, for kernels that only move them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "base/status.h"

namespace sbp::SBP_GPU_BUILD {

struct alignas(16) Word16 {
  uint64_t low, high;
};

// run(word) for words of 1, 2, 4, 8 or 16 bytes.
template <typename Run>
Status WithWord(int64_t bytes, const Run& run) {
  switch (bytes) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    case 8:
      return run(uint64_t{});
    default:
      return run(Word16{});
  }
}

inline bool Aligned(const void* data, int64_t bytes) { return reinterpret_cast<uintptr_t>(data) % bytes == 0; }

// The widest word that rows of `row` bytes and both places are multiples of.
inline int64_t WidestWord(int64_t row, const void* a, const void* b) {
  int64_t word = 16;
  while (word > 1 && (row % word != 0 || !Aligned(a, word) || !Aligned(b, word))) word /= 2;
  return word;
}

// a / b of numbers that are not negative, in 32 bits where they fit.
SBP_HD inline int64_t Divide(int64_t a, int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  return a / b;
}

}  // namespace sbp::SBP_GPU_BUILD
