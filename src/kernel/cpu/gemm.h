// Products of matrices by a library, and the types they are computed in.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::cpu {

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;  // elements from one row to the next
};

// C (m x n) = A (m x k) B (k x n), or C += A B when `accumulate`; all row-major, of element type `type`: f32, f64, u32,
// u64, c64 or c128. Integers wrap around, so that these serve signed ones too. Uses at most `threads` threads.
void Gemm(DType type, const GemmShape& shape, const void* a, const void* b, void* c, bool accumulate, int threads);

// A tensor's elements as `type`, row-major: its own memory where that is what it holds, else a converted copy.
const std::byte* ElementsAs(const TensorView& view, DType type, Scratch& scratch);
// Memory for a result's elements as `type`: its own, or a copy that FinishResult converts.
std::byte* ResultAs(TensorView& view, DType type, Scratch& scratch);
void FinishResult(const std::byte* elements, DType type, TensorView& view);

}  // namespace sbp::cpu
