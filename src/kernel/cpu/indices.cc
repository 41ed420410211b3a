#include "kernel/cpu/indices.h"

#include "base/text.h"
#include "kernel/operands.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

Result<int64_t> Counted(int64_t value, int64_t size) {
  const int64_t counted = value < 0 ? value + size : value;
  if (counted < 0 || counted >= size) return RunFailed(StrCat("index ", value, " is out of range for size ", size));
  return counted;
}

}  // namespace

Result<std::vector<int64_t>> IndicesOf(const TensorView& indices, int64_t size) {
  std::vector<int64_t> values = IntsOf(indices);
  for (int64_t& value : values) {
    SBP_ASSIGN_OR_RETURN(value, Counted(value, size));
  }
  return values;
}

PartOffsets::PartOffsets(const TensorView& data, const TensorView& other, int64_t axis)
    : axis_(static_cast<size_t>(axis)), shape_(data.shape), strides_(RowMajorStrides(data.shape)) {
  for (size_t d = 0; d < shape_.size(); ++d) {
    begin_.push_back(data.ranges[d].begin);
    shift_.push_back(other.ranges[d].begin - data.ranges[d].begin);
  }
}

Result<Tuples> TuplesOf(const TensorView& indices, const TensorView& data, int64_t batch_dims) {
  if (indices.rank() == 0 || batch_dims >= indices.rank()) return RunFailed("the indices have too few dimensions");
  const int64_t depth = indices.shape.back();
  if (batch_dims + depth > data.rank()) return RunFailed("an index names more dimensions than the data have");
  Tuples tuples;
  const std::vector<int64_t> strides = RowMajorStrides(data.shape), values = IntsOf(indices);
  for (int64_t d = batch_dims + depth; d < data.rank(); ++d) tuples.slice *= data.shape[d];
  const Shape leading(indices.shape.begin(), indices.shape.end() - 1);
  tuples.count = 1;
  for (const int64_t size : leading) tuples.count *= size;
  IndexWalk walk(leading);
  for (int64_t i = 0; i < tuples.count; ++i, walk.Next()) {
    int64_t offset = 0;
    bool held = true;
    for (int64_t d = 0; d < batch_dims; ++d) {
      const int64_t at = walk.index()[d] + indices.ranges[d].begin - data.ranges[d].begin;
      held &= at >= 0 && at < data.shape[d];
      offset += at * strides[d];
    }
    for (int64_t j = 0; j < depth; ++j) {
      const int64_t d = batch_dims + j;
      SBP_ASSIGN_OR_RETURN(const int64_t index, Counted(values[i * depth + j], data.whole[d]));
      const int64_t at = index - data.ranges[d].begin;
      held &= at >= 0 && at < data.shape[d];
      offset += at * strides[d];
    }
    tuples.offsets.push_back(held ? offset : -1);
  }
  return tuples;
}

}  // namespace sbp::cpu
