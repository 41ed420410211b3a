// Copies between strided layouts on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {

// Copies `shape` elements of `bytes` bytes (1, 2, 4, 8 or 16); strides in bytes, one per dimension, of any sign. Data
// need not be aligned to the elements' size.
Status CopyStrided(gpu::Stream& stream, const Shape& shape, int64_t bytes, const std::byte* source,
                   const std::vector<int64_t>& source_strides, std::byte* target,
                   const std::vector<int64_t>& target_strides);

// Writes n copies of one element of the host's memory.
Status Fill(gpu::Stream& stream, std::byte* target, int64_t n, const std::byte* element, int64_t bytes);

}  // namespace sbp::SBP_GPU_BUILD
