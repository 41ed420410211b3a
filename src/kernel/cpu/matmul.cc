// MatMul: a product of matrices per index of the leading dimensions, which stretch.
#include <algorithm>

#include "base/text.h"
#include "kernel/cpu/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/indices.h"
#include "kernel/cpu/kernels.h"

namespace sbp::cpu {
namespace {

// An operand's leading dimensions, aligned at the right with the result's, and its steps along them.
std::vector<int64_t> BatchStrides(const Shape& shape, size_t batch_rank, int64_t matrix) {
  std::vector<int64_t> strides(batch_rank, 0);
  int64_t stride = matrix;
  for (size_t d = shape.size() - 2, at = batch_rank; d-- > 0;) {
    strides[--at] = shape[d] == 1 ? 0 : stride;
    stride *= shape[d];
  }
  return strides;
}

int64_t Dot(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

Status MatMul(KernelCall& call) {
  Shape a = call.inputs[0].shape, b = call.inputs[1].shape;
  TensorView& out = call.outputs[0];
  if (a.empty() || b.empty()) return RunFailed("an operand of MatMul has no dimensions");
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const size_t batch_rank = std::max(a.size(), b.size()) - 2;
  Shape batch(batch_rank, 1);
  for (const Shape* shape : {&a, &b}) {
    for (size_t d = 0; d + 2 < shape->size(); ++d) {
      int64_t& size = batch[batch_rank - (shape->size() - 2) + d];
      if ((*shape)[d] != 1) size = (*shape)[d];
    }
  }
  GemmShape s{a[a.size() - 2], b.back(), a.back()};
  int64_t count = 1;
  for (const int64_t size : batch) count *= size;
  if (b[b.size() - 2] != s.k || count * s.m * s.n != out.elements()) {
    return RunFailed(StrCat("[", Join(call.inputs[0].shape, ","), "] times [", Join(call.inputs[1].shape, ","),
                            "] is not of the planned size"));
  }
  s.lda = std::max<int64_t>(s.k, 1);
  s.ldb = s.ldc = std::max<int64_t>(s.n, 1);
  const DType type = GemmType(out.dtype);
  const int64_t bytes = ElementBytes(type);
  const std::byte *left = ElementsAs(call.inputs[0], type, *call.scratch),
                  *right = ElementsAs(call.inputs[1], type, *call.scratch);
  std::byte* result = ResultAs(out, type, *call.scratch);
  if (b.size() == 2) {  // one matrix on the right: the rows of all on the left are one matrix
    s.m *= count;
    count = 1;
    std::fill(batch.begin(), batch.end(), 1);
  }
  const std::vector<int64_t> a_strides = BatchStrides(a, batch_rank, a[a.size() - 2] * s.k);
  const std::vector<int64_t> b_strides = BatchStrides(b, batch_rank, s.k * s.n);
  IndexWalk walk(batch);
  for (int64_t i = 0; i < count; ++i, walk.Next()) {
    const int64_t a_at = Dot(walk.index(), a_strides), b_at = Dot(walk.index(), b_strides);
    Gemm(type, s, left + a_at * bytes, right + b_at * bytes, result + i * s.m * s.n * bytes, false, call.threads);
  }
  FinishResult(result, type, out);
  return OkStatus();
}

}  // namespace sbp::cpu
