// Indices that are data: read, counted from the end when negative, checked against the whole, and found in a part.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {

// The values of an index tensor, in [0, size). Error: one is out of range.
Result<std::vector<int64_t>> IndicesOf(const TensorView& indices, int64_t size);

// Multi-dimensional indices of a shape, in row-major order.
class IndexWalk {
 public:
  explicit IndexWalk(const Shape& shape) : shape_(shape), index_(shape.size(), 0) {}
  const std::vector<int64_t>& index() const { return index_; }
  void Next() {
    for (size_t d = index_.size(); d-- > 0;) {
      if (++index_[d] < shape_[d]) return;
      index_[d] = 0;
    }
  }

 private:
  Shape shape_;
  std::vector<int64_t> index_;
};

// Where the element of `data` lies that an element of `other` names (GatherElements, ScatterElements): on `axis` by a
// value, on the other dimensions by its own place in the whole.
class PartOffsets {
 public:
  PartOffsets(const TensorView& data, const TensorView& other, int64_t axis);
  // In elements of data's part; -1 when another device holds it. `local` is an index into `other`.
  int64_t At(const std::vector<int64_t>& local, int64_t value) const {
    int64_t offset = 0;
    for (size_t d = 0; d < local.size(); ++d) {
      const int64_t at = d == axis_ ? value - begin_[d] : local[d] + shift_[d];
      if (at < 0 || at >= shape_[d]) return -1;
      offset += at * strides_[d];
    }
    return offset;
  }

 private:
  size_t axis_;
  Shape shape_;
  std::vector<int64_t> strides_, begin_, shift_;
};

// The index tuples of GatherND and ScatterND: the last dimension of `indices` holds one per leading index.
struct Tuples {
  int64_t count = 0;             // tuples
  int64_t slice = 1;             // elements that each names
  std::vector<int64_t> offsets;  // in elements of data's part; -1: another device holds it
};
Result<Tuples> TuplesOf(const TensorView& indices, const TensorView& data, int64_t batch_dims);

}  // namespace sbp::cpu
