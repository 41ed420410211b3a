// Sorting on a device: Batcher's bitonic network ("Sorting networks and their applications", AFIPS 1968), every line at
// once, a launch per step. Sorted by an order without equals, the result is unique.
#pragma once

#include <bit>
#include <cstdint>

#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"

namespace sbp::SBP_GPU_BUILD {

// Index: of a pair of a step. Keys, plain data, has bool Before(a, b) and void Swap(a, b) for places counted over all
// lines of `padded` places each.
template <typename Keys>
struct SortStep {
  Keys keys;
  int64_t block, distance;
  SBP_HD void operator()(int64_t i) const {
    const int64_t low = i / distance * 2 * distance + i % distance, high = low + distance;
    const bool ascending = (low & block) == 0;
    if (keys.Before(high, low) == ascending) keys.Swap(low, high);
  }
};

inline int64_t PaddedToSort(int64_t size) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size < 1 ? 1 : size)));
}

// Each of `lines` lines of `padded` places (a power of two) ascending.
template <typename Keys>
Status Sort(gpu::Stream& stream, int64_t lines, int64_t padded, const Keys& keys) {
  for (int64_t block = 2; block <= padded; block *= 2) {
    for (int64_t distance = block / 2; distance > 0; distance /= 2) {
      // The last merge of a line ascends whatever line it is.
      const int64_t shown = block == padded ? 0 : block;
      SBP_RETURN_IF_ERROR(gpu::ForEach(stream, lines * padded / 2, SortStep<Keys>{keys, shown, distance}));
    }
  }
  return OkStatus();
}

}  // namespace sbp::SBP_GPU_BUILD
