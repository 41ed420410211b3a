// Tensors that are stretched to a larger shape, aligned at the right: dimensions of size 1 are repeated.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp {

// Steps of `view`, in elements, along the dimensions of `shape`. Error (kDefect): it cannot be stretched to it.
Result<std::vector<int64_t>> StretchSteps(const TensorView& view, const Shape& shape);

// Of an Expand: the operand's strides in bytes along the result's dimensions. Error (kRunFailed): as above, since data
// may decide the sizes.
Result<std::vector<int64_t>> ExpandedStrides(const KernelCall& call);

}  // namespace sbp
