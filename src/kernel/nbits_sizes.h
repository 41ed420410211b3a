// com.microsoft::MatMulNBits as kernels of all devices see it.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernel/kernel.h"

namespace sbp {

// Rows of the weights are columns of the product; each is packed by itself.
struct NBitsSizes {
  int bits = 0;
  int64_t n = 0, k = 0, block_size = 0;
  int64_t row_bytes = 0, blocks = 0;  // of one row of the weights; 0 where nothing is computed
  bool empty = false;                 // the result has no elements
};
// Errors (kRunFailed): attributes of a form that is not read, weights that do not fit the operands.
Result<NBitsSizes> NBitsSizesOf(const KernelCall& call);

}  // namespace sbp
