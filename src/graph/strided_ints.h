// Integers on a grid, as exporters write the places that a strided view reads: the element at (i0, i1, ...) is
// offset + i0 * strides[0] + i1 * strides[1] + ... .
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {

struct StridedInts {
  int64_t offset = 0;
  std::vector<int64_t> strides;  // one per dimension; 0 for dimensions of size 1
  friend bool operator==(const StridedInts&, const StridedInts&) = default;
};

// Larger constants are not looked at.
inline constexpr int64_t kMaxStridedElements = int64_t{1} << 20;

// What these values, row-major, are; nothing where they are something else, or none.
std::optional<StridedInts> FindStrides(const Shape& shape, std::span<const int64_t> values);

}  // namespace sbp
