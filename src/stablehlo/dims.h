// Lists of dimensions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sbp/shard_math.h"

namespace sbp::stablehlo {

using Dims = std::vector<int64_t>;

inline bool Has(const Dims& list, int64_t value) { return std::ranges::find(list, value) != list.end(); }
inline bool IsAll(const Dims& list, int64_t value) {
  return std::ranges::all_of(list, [&](int64_t entry) { return entry == value; });
}

// 0, 1, ... rank - 1 but for these.
inline Dims Others(int64_t rank, const Dims& without) {
  Dims rest;
  for (int64_t i = 0; i < rank; ++i) {
    if (!Has(without, i)) rest.push_back(i);
  }
  return rest;
}

inline Dims Joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Dims Inverse(const Dims& permutation) {
  Dims inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return inverse;
}

inline Shape Picked(const Shape& shape, const Dims& dims) {
  Shape picked;
  for (const int64_t dim : dims) picked.push_back(shape[static_cast<size_t>(dim)]);
  return picked;
}

}  // namespace sbp::stablehlo
