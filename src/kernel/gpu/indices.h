// Indices that are data: counted from the end when negative, checked against the whole, and found in a part. One that
// is out of range is noted in the stream's error word.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/gpu/device_errors.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/walk.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {

struct Indices {
  DType type;
  const std::byte* data;
  uint32_t* errors;

  // Index i, in [0, size); -1: out of range.
  SBP_HD int64_t At(int64_t i, int64_t size) const {
    int64_t value = LoadInteger(type, data, i);
    if (value < 0) value += size;
    if (value >= 0 && value < size) return value;
    gpu::SetBits(errors, kIndexOutOfRange);
    return -1;
  }
};

inline Indices IndicesOf(const KernelCall& call, const TensorView& view) {
  return {view.dtype, view.data, call.stream->error_word()};
}

// Where the element of `data` lies that an element of `other` names (GatherElements, ScatterElements): on `axis` by a
// value, on the other dimensions by its own place in the whole.
struct PartOffsets {
  Indices indices;
  int rank, axis;
  int64_t axis_whole, axis_begin;
  // Of other's dimensions; shift: from its local index to data's.
  int64_t other_size[kMostDims], shift[kMostDims], held[kMostDims], stride[kMostDims];

  // In elements of data's part; -1: another device holds it, or it is out of range.
  SBP_HD int64_t At(int64_t i) const {
    const int64_t value = indices.At(i, axis_whole);
    if (value < 0) return -1;
    int64_t rest = i, offset = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t next = Divide(rest, other_size[d]);
      const int64_t at = d == axis ? value - axis_begin : rest - next * other_size[d] + shift[d];
      rest = next;
      if (at < 0 || at >= held[d]) return -1;
      offset += at * stride[d];
    }
    return offset;
  }
};
Result<PartOffsets> MakePartOffsets(const KernelCall& call, const TensorView& data, const TensorView& other,
                                    int64_t axis);

// The index tuples of GatherND and ScatterND: as cpu::Tuples, with the offsets in the device's scratch.
struct Tuples {
  int64_t count = 0;
  int64_t slice = 1;
  const int64_t* offsets = nullptr;  // in elements of data's part; -1: another device holds it, or it is out of range
};
Result<Tuples> TuplesOf(const KernelCall& call, const TensorView& indices, const TensorView& data, int64_t batch_dims);

}  // namespace sbp::SBP_GPU_BUILD
