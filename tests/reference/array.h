// Plain arrays of doubles for the reference interpreter: slow, obvious, for tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/dtype.h"
#include "sbp/shard_math.h"

namespace sbp::reference {

using Index = std::vector<int64_t>;

// Row-major. Integers are exact up to 2^53; bool is 0 or 1.
struct Array {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<double> values;

  Array() = default;
  Array(DType t, Shape s, double fill = 0);
  int rank() const { return static_cast<int>(shape.size()); }
  double at(const Index& index) const { return values[Offset(index)]; }
  double& at(const Index& index) { return values[Offset(index)]; }
  size_t Offset(const Index& index) const;
};

int64_t Elements(const Shape& shape);
// Calls f for every index of `shape`, in row-major order.
void ForEach(const Shape& shape, const std::function<void(const Index&)>& f);

// Where a part lies in the whole: a range per dimension.
struct Piece {
  std::vector<Range> ranges;
  Shape global;
  Shape local() const;
  bool Contains(const Index& global_index) const;
  Index ToGlobal(const Index& local_index) const;
  Index ToLocal(const Index& global_index) const;
};
Piece WholePiece(const Shape& shape);
Array Cut(const Array& whole, const Piece& piece);

}  // namespace sbp::reference
