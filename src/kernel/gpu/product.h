// Products of matrices of any type: the library's for floats, else one thread a sum.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/kernel.h"

namespace sbp::SBP_GPU_BUILD {

// out[i] (m x n) = a[i] (m x k) b[i] (k x n), dense and row-major, of element type `type`; steps in elements from one
// batch to the next, 0: the same for all. A transposed a lies k x m, b n x k. Integers wrap around.
struct Product {
  DType type = DType::kF32;
  bool allow_tf32 = false;  // as KernelCall's
  int64_t batches = 1, m = 0, n = 0, k = 0;
  int64_t a_step = 0, b_step = 0;
  bool transpose_a = false, transpose_b = false;
  const std::byte *a = nullptr, *b = nullptr;
  std::byte* out = nullptr;
};
Status Multiply(gpu::Stream& stream, const Product& product);

}  // namespace sbp::SBP_GPU_BUILD
