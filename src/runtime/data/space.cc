#include "runtime/data/space.h"

#include <cstring>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/literal.h"
#include "runtime/data/reduce.h"

namespace sbp {

Result<Value> Space::CopyOf(const TensorView& view) {
  SBP_ASSIGN_OR_RETURN(Value copy, MakeTensor(view.dtype, view.shape));
  SBP_RETURN_IF_ERROR(Download(view.data, copy.view.data, view.bytes()));
  copy.view.whole = view.whole;
  copy.view.ranges = view.ranges;
  return copy;
}

Status Space::Write(const TensorView& view, const std::function<void(const TensorView&)>& fill) {
  SBP_ASSIGN_OR_RETURN(const Value staged, MakeTensor(view.dtype, view.shape));
  TensorView part = view;
  part.data = staged.view.data;
  fill(part);
  return Upload(part.data, view.data, view.bytes());
}

LiteralRef Space::SmallValuesOf(const TensorView& view) {
  if (stream() == nullptr) return SmallValues(view);
  if (!view.is_whole() || view.elements() > kMaxLiteralElements) return nullptr;
  const Result<Value> copy = CopyOf(view);
  return copy.ok() ? SmallValues(copy->view) : nullptr;
}

Result<std::shared_ptr<std::byte>> HostSpace::Allocate(int64_t bytes) {
  std::shared_ptr<std::byte> memory = AllocateBytes(bytes);
  if (memory == nullptr) return RunFailed(StrCat("out of memory: ", bytes, " bytes"));
  return memory;
}

Status HostSpace::Upload(const std::byte* host, std::byte* data, int64_t bytes) {
  if (bytes > 0) std::memcpy(data, host, static_cast<size_t>(bytes));
  return OkStatus();
}

Status HostSpace::Download(const std::byte* data, std::byte* host, int64_t bytes) { return Upload(data, host, bytes); }

Status HostSpace::CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box,
                          std::byte* target, const Box& target_box) {
  sbp::CopyBox(dtype, part, source, source_box, target, target_box);
  return OkStatus();
}

Status HostSpace::FillNeutral(DType dtype, ReduceKind kind, std::byte* target, int64_t count) {
  sbp::FillNeutral(dtype, kind, target, count);
  return OkStatus();
}

}  // namespace sbp
