// Gather: elements by index. Indices count in the whole; one into another device's part gives 0.
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/indices.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

Status GatherBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), data.rank()));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, IndicesOf(which, data.whole[axis]));
  int64_t outer = 1, inner = ElementBytes(data.dtype);
  for (int64_t d = 0; d < axis; ++d) outer *= data.shape[d];
  for (int64_t d = axis + 1; d < data.rank(); ++d) inner *= data.shape[d];
  const auto n = static_cast<int64_t>(indices.size());
  if (out.elements() * ElementBytes(out.dtype) != outer * n * inner)
    return Defect("the result's shape does not follow from the operands");
  std::byte* target = out.data;
  for (int64_t o = 0; o < outer; ++o) {
    const std::byte* source = data.data + o * data.shape[axis] * inner;
    for (int64_t i = 0; i < n; ++i, target += inner) {
      const int64_t at = indices[i] - data.ranges[axis].begin;
      if (at >= 0 && at < data.shape[axis])
        std::memcpy(target, source + at * inner, static_cast<size_t>(inner));
      else
        std::memset(target, 0, static_cast<size_t>(inner));
    }
  }
  return OkStatus();
}

Status GatherElementsBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), data.rank()));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, IndicesOf(which, data.whole[axis]));
  if (which.rank() != data.rank() || which.shape != out.shape)
    return Defect("the result's shape is not that of the indices");
  const int64_t bytes = ElementBytes(data.dtype);
  const PartOffsets offsets(data, out, axis);
  IndexWalk walk(out.shape);
  for (size_t i = 0; i < indices.size(); ++i, walk.Next()) {
    const int64_t offset = offsets.At(walk.index(), indices[i]);
    std::byte* target = out.data + static_cast<int64_t>(i) * bytes;
    if (offset >= 0)
      std::memcpy(target, data.data + offset * bytes, static_cast<size_t>(bytes));
    else
      std::memset(target, 0, static_cast<size_t>(bytes));
  }
  return OkStatus();
}

Status GatherNdBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1];
  TensorView& out = call.outputs[0];
  const int64_t batch = call.attributes->Int("batch_dims", 0);
  SBP_ASSIGN_OR_RETURN(const Tuples tuples, TuplesOf(which, data, batch));
  const int64_t bytes = ElementBytes(data.dtype) * tuples.slice;
  if (out.elements() * ElementBytes(out.dtype) != tuples.count * bytes)
    return Defect("the result's shape does not follow from the operands");
  for (int64_t i = 0; i < tuples.count; ++i) {
    std::byte* target = out.data + i * bytes;
    if (tuples.offsets[i] >= 0)
      std::memcpy(target, data.data + tuples.offsets[i] * ElementBytes(data.dtype), static_cast<size_t>(bytes));
    else
      std::memset(target, 0, static_cast<size_t>(bytes));
  }
  return OkStatus();
}

}  // namespace

Status Gather(KernelCall& call) { return OnBytes(call, GatherBytes); }
Status GatherElements(KernelCall& call) { return OnBytes(call, GatherElementsBytes); }
Status GatherNd(KernelCall& call) { return OnBytes(call, GatherNdBytes); }

}  // namespace sbp::cpu
