// What kernels of all devices ask of their operands' shapes and attributes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp {

// Row-major strides in bytes of a tensor with one element a byte at least (ElementBytes).
std::vector<int64_t> ByteStrides(const TensorView& view);

// Of a Transpose: the operand's strides in bytes along the result's dimensions. Error: perm does not fit.
Result<std::vector<int64_t>> TransposedStrides(const KernelCall& call);

// Of a Concat: copy(operand, the byte of the result where it begins) for each present operand. Error: copy's, or the
// operands do not fill the result.
Status WalkConcatenation(const KernelCall& call,
                         const std::function<Status(const TensorView& operand, int64_t offset)>& copy);

// The integers of an operand of any integer type.
std::vector<int64_t> IntsOf(const TensorView& view);
// Counted from the end when negative. Error: out of range.
Result<int64_t> AxisIn(int64_t axis, int rank);
// Result r turned out to have this size on a dimension: writes it, the whole's and the range's.
void SetSize(TensorView& view, size_t dim, int64_t size);

// Of a ConstantOfShape: the attribute `value`, or 0, as one element of `type`, in 16 bytes.
void ConstantElement(const KernelCall& call, DType type, std::byte* element);

// Of a reduction: which dimensions of operand 0 it reduces. `operand`: the axes that operand 1 holds; null: there is
// none, the attribute counts. Error: an axis is out of range.
Result<std::vector<bool>> ReducedDims(const KernelCall& call, const std::vector<int64_t>* operand);

// Of a TopK on `axis`: sets the results' sizes to what operand 1 holds. Error: not one number that there is room for.
Status SizeOfTopK(std::span<const int64_t> k, int64_t axis, KernelCall& call);

// Has an operand or result packed elements, several in a byte?
bool HasPacked(const KernelCall& call);

}  // namespace sbp
