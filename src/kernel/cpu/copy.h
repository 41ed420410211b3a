// Copies between strided layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "kernel/kernel.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {

// Copies `shape` elements of `bytes` bytes (1, 2, 4, 8 or 16); strides in bytes, one per dimension, of any sign.
void CopyStrided(const Shape& shape, int64_t bytes, const std::byte* source, const std::vector<int64_t>& source_strides,
                 std::byte* target, const std::vector<int64_t>& target_strides);

// Writes n copies of one element.
void Fill(std::byte* target, int64_t n, const std::byte* element, int64_t bytes);

// Runs a kernel that moves whole bytes on operands and results of any type: those of 4 and 2 bits are unpacked before
// and packed after; within the kernel their elements take ElementBytes.
Status OnBytes(KernelCall& call, KernelFn kernel);

}  // namespace sbp::cpu
