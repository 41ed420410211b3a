// Products of doubles on processors with AVX2 and FMA; compiled for these. Eigen has another name here, so that no
// other file is linked with these instances of its templates.
#define EIGEN_DONT_PARALLELIZE
#define Eigen EigenAvx2
#include "kernel/cpu/gemm_avx2.h"

#include "kernel/cpu/eigen_gemm.h"

namespace sbp::cpu {

void DoubleGemmAvx2(const GemmShape& shape, const void* a, const void* b, void* c, bool accumulate) {
  EigenGemm<double>(shape, a, b, c, accumulate);
}

}  // namespace sbp::cpu
