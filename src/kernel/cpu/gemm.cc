#define EIGEN_DONT_PARALLELIZE
#include "kernel/cpu/gemm.h"

#include <complex>
#ifdef SBP_HAVE_DNNL
#include <dnnl.h>
#endif

#include "base/dtype.h"
#include "kernel/convert.h"
#include "kernel/cpu/eigen_gemm.h"
#include "kernel/view.h"
#ifdef SBP_HAVE_AVX2_FILES
#include "kernel/cpu/gemm_avx2.h"
#endif

#ifdef SBP_HAVE_DNNL
extern "C" void omp_set_num_threads(int n);  // oneDNN's threads; of the calling thread's own regions only
#endif

namespace sbp::cpu {
namespace {

void FloatGemm(const GemmShape& s, const void* a, const void* b, void* c, bool accumulate,
               [[maybe_unused]] int threads) {
#ifdef SBP_HAVE_DNNL
  if (s.k > 0) {
    omp_set_num_threads(threads);
    const float beta = accumulate ? 1.0f : 0.0f;
    if (dnnl_sgemm('N', 'N', s.m, s.n, s.k, 1.0f, static_cast<const float*>(a), s.lda, static_cast<const float*>(b),
                   s.ldb, beta, static_cast<float*>(c), s.ldc) == dnnl_success)
      return;
  }
#endif
  EigenGemm<float>(s, a, b, c, accumulate);
}

void DoubleGemm(const GemmShape& s, const void* a, const void* b, void* c, bool accumulate) {
#ifdef SBP_HAVE_AVX2_FILES
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return DoubleGemmAvx2(s, a, b, c, accumulate);
#endif
  EigenGemm<double>(s, a, b, c, accumulate);
}

// Types whose bits are the same numbers modulo a power of two.
bool SameBits(DType stored, DType type) {
  if (stored == type) return true;
  if (type == DType::kU32) return stored == DType::kI32;
  return type == DType::kU64 && stored == DType::kI64;
}

}  // namespace

void Gemm(DType type, const GemmShape& shape, const void* a, const void* b, void* c, bool accumulate, int threads) {
  if (shape.m == 0 || shape.n == 0) return;
  switch (type) {
    case DType::kF32:
      return FloatGemm(shape, a, b, c, accumulate, threads);
    case DType::kF64:
      return DoubleGemm(shape, a, b, c, accumulate);
    case DType::kU32:
      return EigenGemm<uint32_t>(shape, a, b, c, accumulate);
    case DType::kU64:
      return EigenGemm<uint64_t>(shape, a, b, c, accumulate);
    case DType::kC64:
      return EigenGemm<std::complex<float>>(shape, a, b, c, accumulate);
    default:
      return EigenGemm<std::complex<double>>(shape, a, b, c, accumulate);
  }
}

const std::byte* ElementsAs(const TensorView& view, DType type, Scratch& scratch) {
  if (SameBits(view.dtype, type)) return view.data;
  std::byte* copy = scratch.Allocate(view.elements() * ElementBytes(type));
  Convert(view.dtype, view.data, ElementBytes(view.dtype), type, copy, ElementBytes(type), view.elements());
  return copy;
}

std::byte* ResultAs(TensorView& view, DType type, Scratch& scratch) {
  return SameBits(view.dtype, type) ? view.data : scratch.Allocate(view.elements() * ElementBytes(type));
}

void FinishResult(const std::byte* elements, DType type, TensorView& view) {
  if (elements == view.data) return;
  Convert(type, elements, ElementBytes(type), view.dtype, view.data, ElementBytes(view.dtype), view.elements());
}

}  // namespace sbp::cpu
