// MatMul: a product of matrices per index of the leading dimensions, which stretch.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/indices.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/matmul_sizes.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

int64_t Dot(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Matrices of rows x columns, one after the other, from ones that lie transposed.
const std::byte* Transposed(const std::byte* source, int64_t elements, int64_t rows, int64_t columns, int64_t bytes,
                            Scratch& scratch) {
  if (elements == 0) return source;
  std::byte* target = scratch.Allocate(elements * bytes);
  const int64_t matrix = rows * columns;
  CopyStrided({elements / matrix, rows, columns}, bytes, source, {matrix * bytes, bytes, rows * bytes}, target,
              {matrix * bytes, columns * bytes, bytes});
  return target;
}

}  // namespace

Status MatMul(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const MatMulSizes sizes, MatMulSizesOf(call));
  GemmShape s{sizes.m, sizes.n, sizes.k};
  s.lda = std::max<int64_t>(s.k, 1);
  s.ldb = s.ldc = std::max<int64_t>(s.n, 1);
  TensorView& out = call.outputs[0];
  const DType type = GemmType(out.dtype);
  const int64_t bytes = ElementBytes(type);
  const std::byte *left = ElementsAs(call.inputs[0], type, *call.scratch),
                  *right = ElementsAs(call.inputs[1], type, *call.scratch);
  if (sizes.transpose_a) left = Transposed(left, call.inputs[0].elements(), s.m, s.k, bytes, *call.scratch);
  if (sizes.transpose_b) right = Transposed(right, call.inputs[1].elements(), s.k, s.n, bytes, *call.scratch);
  std::byte* result = ResultAs(out, type, *call.scratch);
  IndexWalk walk(sizes.batch);
  for (int64_t i = 0; i < sizes.count; ++i, walk.Next()) {
    const int64_t a_at = Dot(walk.index(), sizes.a_strides), b_at = Dot(walk.index(), sizes.b_strides);
    Gemm(type, s, left + a_at * bytes, right + b_at * bytes, result + i * s.m * s.n * bytes, false, call.threads);
  }
  FinishResult(result, type, out);
  return OkStatus();
}

}  // namespace sbp::cpu
