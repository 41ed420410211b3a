// The sizes of a MatMul, for the kernels of every device.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "kernel/kernel.h"
#include "sbp/shard_math.h"

namespace sbp {

// A product (m x k times k x n) for each of `count` indices of the leading dimensions `batch`, which stretch. One
// matrix on the right multiplies the rows of all on the left at once: then count is 1 and m their sum.
// With the attribute transA the first operand's matrices lie transposed (k x m), with transB the second's (n x k):
// programs put a Transpose before a MatMul into it.
struct MatMulSizes {
  int64_t m = 0, n = 0, k = 0, count = 1;
  bool transpose_a = false, transpose_b = false;
  Shape batch;                                // aligned at the right with both operands'
  std::vector<int64_t> a_strides, b_strides;  // in elements, along `batch`; 0 where the operand is stretched
};

// Of the call's two operands and its result. Error: an operand without dimensions, or the sizes do not agree.
Result<MatMulSizes> MatMulSizesOf(const KernelCall& call);

}  // namespace sbp
