// Kernels that work on the lines of a tensor along one axis.
#pragma once

#include <cstdint>

#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp {

// A tensor as (outer, size, inner): line (o, i) starts at element o * size * inner + i, and steps by inner.
struct AxisLines {
  int64_t outer = 1, size = 1, inner = 1;
  AxisLines(const Shape& shape, int64_t axis) : size(shape[axis]) {
    for (int64_t d = 0; d < axis; ++d) outer *= shape[d];
    for (int64_t d = axis + 1; d < static_cast<int64_t>(shape.size()); ++d) inner *= shape[d];
  }
};

}  // namespace sbp
