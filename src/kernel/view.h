// TensorView: a tensor, or one device's part of it, in memory, as kernels see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "sbp/shard_math.h"

namespace sbp {

// Dense and row-major. Elements of 4 and 2 bits are packed, the first one in the low bits of a byte, with no gap
// between rows. Bool is one byte, 0 or 1. Does not own its data.
struct TensorView {
  DType dtype = DType::kUndefined;  // kUndefined: an absent operand, or a result that nobody wants
  Shape shape;                      // of what is in memory
  std::byte* data = nullptr;        // aligned to 64 bytes; may be null when there are no elements

  // Where it lies in the whole tensor: `ranges` has one entry per dimension, of size shape[d]. With a halo the ranges
  // hold the neighbours' elements too.
  Shape whole;
  std::vector<Range> ranges;

  bool present() const { return dtype != DType::kUndefined; }
  int rank() const { return static_cast<int>(shape.size()); }
  int64_t elements() const;
  int64_t bytes() const { return StorageBytes(dtype, elements()); }
  bool is_whole() const { return shape == whole; }

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }

  // Bytes that `elements` elements take.
  static int64_t StorageBytes(DType dtype, int64_t elements);
};

// A view of a whole tensor.
TensorView WholeView(DType dtype, Shape shape, std::byte* data);

// Row-major strides, in elements.
std::vector<int64_t> RowMajorStrides(const Shape& shape);

}  // namespace sbp
