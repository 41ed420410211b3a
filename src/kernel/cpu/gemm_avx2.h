// Products of doubles with AVX2 and FMA.
#pragma once

#include "kernel/cpu/gemm.h"

namespace sbp::cpu {

// Gemm of f64. The processor must have AVX2 and FMA.
void DoubleGemmAvx2(const GemmShape& shape, const void* a, const void* b, void* c, bool accumulate);

}  // namespace sbp::cpu
