// Copies between strided layouts, and what data movement shares.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernel/kernel.h"

namespace sbp::cpu {

// Copies `shape` elements of `bytes` bytes (1, 2, 4, 8 or 16); strides in bytes, one per dimension, of any sign.
void CopyStrided(const Shape& shape, int64_t bytes, const std::byte* source, const std::vector<int64_t>& source_strides,
                 std::byte* target, const std::vector<int64_t>& target_strides);

// Writes n copies of one element.
void Fill(std::byte* target, int64_t n, const std::byte* element, int64_t bytes);

// Row-major strides in bytes of a tensor with one element a byte at least (ElementBytes).
std::vector<int64_t> ByteStrides(const TensorView& view);

// Of a Transpose: the operand's strides in bytes along the result's dimensions. Error: perm does not fit.
Result<std::vector<int64_t>> TransposedStrides(const KernelCall& call);

// Of a Concat: copy(operand, the byte of the result where it begins) for each present operand. Error: copy's, or the
// operands do not fill the result.
Status WalkConcatenation(const KernelCall& call,
                         const std::function<Status(const TensorView& operand, int64_t offset)>& copy);

// Runs a kernel that moves whole bytes on operands and results of any type: those of 4 and 2 bits are unpacked before
// and packed after; within the kernel their elements take ElementBytes.
Status OnBytes(KernelCall& call, KernelFn kernel);

// The integers of an operand of any integer type.
std::vector<int64_t> IntsOf(const TensorView& view);
// Counted from the end when negative. Error: out of range.
Result<int64_t> AxisIn(int64_t axis, int rank);
// Result r turned out to have this size on a dimension: writes it, the whole's and the range's.
void SetSize(TensorView& view, size_t dim, int64_t size);

}  // namespace sbp::cpu
