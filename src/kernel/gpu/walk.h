// Walk: from an index of a dense result to the offsets of the elements under it in several strided operands.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/host_device.h"
#include "base/status.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {

inline constexpr int kMostDims = 8;

// A functor's own copy of sizes and strides: plain data, passed by value.
template <int N>
struct Walk {
  int rank = 0;
  bool narrow = true;  // indices fit 32 bits: dividing them is several times faster
  int64_t elements = 1;
  int64_t size[kMostDims] = {};
  int64_t stride[N][kMostDims] = {};

  struct Offsets {
    int64_t at[N];
  };
  SBP_HD Offsets At(int64_t i) const {
    Offsets offsets{};
    for (int d = rank - 1; d > 0; --d) {
      const int64_t next =
          narrow ? static_cast<int64_t>(static_cast<uint32_t>(i) / static_cast<uint32_t>(size[d])) : i / size[d];
      const int64_t index = i - next * size[d];
      i = next;
      for (int k = 0; k < N; ++k) offsets.at[k] += index * stride[k][d];
    }
    for (int k = 0; k < N; ++k) offsets.at[k] += i * stride[k][0];
    return offsets;
  }
  // Of a walk of one operand.
  SBP_HD int64_t operator()(int64_t i) const { return At(i).at[0]; }
  bool contiguous(int k) const { return rank <= 1 && (elements == 1 || stride[k][0] == 1); }
  bool constant(int k) const { return rank <= 1 && (elements == 1 || stride[k][0] == 0); }
};

// Dimensions of size 1 are dropped and neighbours that every operand walks as one are joined. Error (kRunFailed): more
// than kMostDims are left.
template <int N>
Result<Walk<N>> MakeWalk(const Shape& shape, const std::array<std::vector<int64_t>, N>& strides) {
  Walk<N> walk;
  for (size_t d = 0; d < shape.size(); ++d) {
    walk.elements *= shape[d];
    if (shape[d] == 1) continue;
    bool joins = walk.rank > 0;
    for (int k = 0; joins && k < N; ++k) joins = walk.stride[k][walk.rank - 1] == strides[k][d] * shape[d];
    if (!joins && walk.rank == kMostDims) return RunFailed("more than 8 dimensions, none of which join");
    if (!joins) ++walk.rank;
    int64_t& size = walk.size[walk.rank - 1];
    size = joins ? size * shape[d] : shape[d];
    for (int k = 0; k < N; ++k) walk.stride[k][walk.rank - 1] = strides[k][d];
  }
  if (walk.elements == 0) walk.rank = 0;
  walk.narrow = walk.elements < (int64_t{1} << 32);
  return walk;
}

// Steps of `view`, in elements, along the dimensions of `shape` that it is stretched to (aligned at the right).
Result<std::vector<int64_t>> StretchedStrides(const TensorView& view, const Shape& shape);

}  // namespace sbp::SBP_GPU_BUILD
