// Convolutions as kernels of all devices see them: groups, channels and windows of this device's part.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "graph/tensor_type.h"
#include "kernel/kernel.h"
#include "kernel/window.h"
#include "sbp/shard_math.h"

namespace sbp {

struct ConvSizes {
  int64_t groups, in_channels, out_channels;  // channels of one group; a group is never on two devices
  int64_t in_size, out_size, kernel_size;     // elements of the spatial dimensions
  WindowAxis window[3];
};

// Of Conv's operands x and weight and its result. Errors (kRunFailed): ranks that differ, channels that do not divide
// into groups, as WindowOf.
Result<ConvSizes> ConvSizesOf(const KernelCall& call);
// The same of ConvTranspose, with TransposedWindowOf.
Result<ConvSizes> TransposedConvSizesOf(const KernelCall& call);

// The product of the sizes from dimension `first` on.
int64_t CountFrom(const Shape& shape, size_t first);

}  // namespace sbp
