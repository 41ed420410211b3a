#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "gpu/host/compute.h"
#include "gpu/host/elements.h"

namespace sbp::gpu::host {
namespace {

// One product: out += op(a) op(c), row by row, so that the inner loop runs along rows of the result.
template <typename T>
void Multiply(const GemmCall& call, const T* a, const T* c, T* out) {
  const auto& [m, n, k] = std::tuple(call.m, call.n, call.k);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      const T factor = a[call.transpose_a ? p * m + i : i * k + p];
      const T* row = call.transpose_c ? c + p : c + p * n;
      const int64_t step = call.transpose_c ? k : 1;
      for (int64_t j = 0; j < n; ++j) out[i * n + j] += factor * row[j * step];
    }
  }
}

template <typename T>
void MultiplyAll(const GemmCall& call) {
  const int64_t a_size = call.m * call.k, c_size = call.k * call.n, out_size = call.m * call.n;
  const int64_t last = call.batch - 1;
  const std::vector<T> a = ReadElements<T>(call.dtype, call.a, a_size == 0 ? 0 : last * call.stride_a + a_size);
  const std::vector<T> c = ReadElements<T>(call.dtype, call.c, c_size == 0 ? 0 : last * call.stride_c + c_size);
  std::vector<T> out(static_cast<size_t>(call.batch * out_size), T{0});
  if (call.beta != 0) out = ReadElements<T>(call.dtype, call.out, call.batch * out_size);
  std::vector<T> product(static_cast<size_t>(out_size));
  for (int64_t b = 0; b < call.batch; ++b) {
    std::fill(product.begin(), product.end(), T{0});
    Multiply(call, a.data() + b * call.stride_a, c.data() + b * call.stride_c, product.data());
    for (int64_t i = 0; i < out_size; ++i) {
      T& cell = out[static_cast<size_t>(b * out_size + i)];
      cell = static_cast<T>(call.alpha) * product[static_cast<size_t>(i)] + static_cast<T>(call.beta) * cell;
    }
  }
  WriteElements(call.dtype, out, call.out);
}

}  // namespace

Status Gemm(const GemmCall& call) {
  if (!IsProductType(call.dtype)) return Defect("no product of matrices of this element type");
  if (call.batch == 0 || call.m == 0 || call.n == 0) return OkStatus();
  if (call.dtype == DType::kF64)
    MultiplyAll<double>(call);
  else
    MultiplyAll<float>(call);
  return OkStatus();
}

}  // namespace sbp::gpu::host
