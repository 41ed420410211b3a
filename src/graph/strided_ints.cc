#include "graph/strided_ints.h"

#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Of numbers that may be any: what overflows fits no grid that is looked for, and wraps here.
int64_t Difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace

std::optional<StridedInts> FindStrides(const Shape& shape, std::span<const int64_t> values) {
  if (values.empty()) return std::nullopt;
  StridedInts found{values[0], std::vector<int64_t>(shape.size(), 0)};
  size_t inner = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] > 1) found.strides[d] = Difference(values[inner], values[0]);
    inner *= static_cast<size_t>(shape[d]);
  }
  // Every line along a dimension has the same step: then all elements are where the first one and the steps say.
  inner = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    const size_t line = inner * static_cast<size_t>(shape[d]);
    for (size_t i = inner; i < values.size(); ++i) {
      if (i % line >= inner && Difference(values[i], values[i - inner]) != found.strides[d]) return std::nullopt;
    }
    inner = line;
  }
  return found;
}

}  // namespace sbp
