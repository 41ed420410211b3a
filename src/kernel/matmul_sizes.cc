#include "kernel/matmul_sizes.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/text.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

std::vector<int64_t> BatchStrides(const Shape& shape, size_t batch_rank, int64_t matrix) {
  std::vector<int64_t> strides(batch_rank, 0);
  int64_t stride = matrix;
  for (size_t d = shape.size() - 2, at = batch_rank; d-- > 0;) {
    strides[--at] = shape[d] == 1 ? 0 : stride;
    stride *= shape[d];
  }
  return strides;
}

Shape StretchedBatch(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size()) - 2;
  Shape batch(rank, 1);
  for (const Shape* shape : {&a, &b}) {
    for (size_t d = 0; d + 2 < shape->size(); ++d) {
      int64_t& size = batch[rank - (shape->size() - 2) + d];
      if ((*shape)[d] != 1) size = (*shape)[d];
    }
  }
  return batch;
}

}  // namespace

Result<MatMulSizes> MatMulSizesOf(const KernelCall& call) {
  Shape a = call.inputs[0].shape, b = call.inputs[1].shape;
  if (a.empty() || b.empty()) return RunFailed("an operand of MatMul has no dimensions");
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  MatMulSizes sizes;
  sizes.transpose_a = call.attributes->Int("transA", 0) != 0;
  sizes.transpose_b = call.attributes->Int("transB", 0) != 0;
  if (sizes.transpose_a) std::swap(a[a.size() - 2], a.back());
  if (sizes.transpose_b) std::swap(b[b.size() - 2], b.back());
  sizes.m = a[a.size() - 2];
  sizes.n = b.back();
  sizes.k = a.back();
  sizes.batch = StretchedBatch(a, b);
  for (const int64_t size : sizes.batch) sizes.count *= size;
  if (b[b.size() - 2] != sizes.k || sizes.count * sizes.m * sizes.n != call.outputs[0].elements()) {
    return RunFailed(StrCat("[", Join(call.inputs[0].shape, ","), "] times [", Join(call.inputs[1].shape, ","),
                            "] is not of the planned size"));
  }
  const auto one = [](int64_t size) { return size == 1; };
  if (!sizes.transpose_a && std::all_of(b.begin(), b.end() - 2, one)) {
    sizes.m *= sizes.count;
    sizes.count = 1;
    sizes.batch.clear();
  }
  const size_t rank = sizes.batch.size();
  if (rank == 0) return sizes;
  sizes.a_strides = BatchStrides(a, rank, sizes.m * sizes.k);
  sizes.b_strides = BatchStrides(b, rank, sizes.k * sizes.n);
  return sizes;
}

}  // namespace sbp
