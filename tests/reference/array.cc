#include "reference/array.h"

namespace sbp::reference {

Array::Array(DType t, Shape s, double fill) : dtype(t), shape(std::move(s)), values(Elements(shape), fill) {}

size_t Array::Offset(const Index& index) const {
  size_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + index[d];
  return offset;
}

int64_t Elements(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

void ForEach(const Shape& shape, const std::function<void(const Index&)>& f) {
  if (Elements(shape) == 0) return;
  Index index(shape.size(), 0);
  while (true) {
    f(index);
    int d = static_cast<int>(shape.size()) - 1;
    while (d >= 0 && ++index[d] == shape[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

Shape Piece::local() const {
  Shape shape;
  for (const Range& range : ranges) shape.push_back(range.size());
  return shape;
}

bool Piece::Contains(const Index& index) const {
  for (size_t d = 0; d < ranges.size(); ++d) {
    if (index[d] < ranges[d].begin || index[d] >= ranges[d].end) return false;
  }
  return true;
}

Index Piece::ToGlobal(const Index& local_index) const {
  Index index = local_index;
  for (size_t d = 0; d < ranges.size(); ++d) index[d] += ranges[d].begin;
  return index;
}

Index Piece::ToLocal(const Index& global_index) const {
  Index index = global_index;
  for (size_t d = 0; d < ranges.size(); ++d) index[d] -= ranges[d].begin;
  return index;
}

Piece WholePiece(const Shape& shape) {
  Piece piece;
  piece.global = shape;
  for (const int64_t size : shape) piece.ranges.push_back({0, size});
  return piece;
}

Array Cut(const Array& whole, const Piece& piece) {
  Array part(whole.dtype, piece.local());
  ForEach(part.shape, [&](const Index& index) { part.at(index) = whole.at(piece.ToGlobal(index)); });
  return part;
}

}  // namespace sbp::reference
