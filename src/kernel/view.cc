#include "kernel/view.h"

#include <utility>

namespace sbp {

int64_t TensorView::elements() const {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

int64_t TensorView::StorageBytes(DType dtype, int64_t elements) { return (elements * DTypeBits(dtype) + 7) / 8; }

TensorView WholeView(DType dtype, Shape shape, std::byte* data) {
  TensorView view;
  view.dtype = dtype;
  view.data = data;
  for (const int64_t d : shape) view.ranges.push_back({0, d});
  view.whole = shape;
  view.shape = std::move(shape);
  return view;
}

std::vector<int64_t> RowMajorStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace sbp
