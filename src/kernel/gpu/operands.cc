#include "kernel/gpu/operands.h"

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/gpu/walk.h"
#include "kernel/stretch.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

template <typename T>
Result<std::vector<T>> ValuesOf(const KernelCall& call, size_t i, DType type) {
  const TensorView& view = call.inputs[i];
  std::vector<T> values(static_cast<size_t>(view.elements()));
  std::vector<std::byte> copy;
  const std::byte* data = nullptr;
  if (i < call.host_inputs.size() && call.host_inputs[i].present()) {
    data = call.host_inputs[i].data;
  } else {
    copy.resize(static_cast<size_t>(view.bytes()));
    SBP_RETURN_IF_ERROR(call.stream->Download(view.data, copy.data(), view.bytes()));
    SBP_RETURN_IF_ERROR(call.stream->Synchronize());
    data = copy.data();
  }
  Convert(view.dtype, data, ElementBytes(view.dtype), type, reinterpret_cast<std::byte*>(values.data()), sizeof(T),
          static_cast<int64_t>(values.size()));
  return values;
}

// Types whose bits are the same numbers modulo a power of two.
bool SameBits(DType stored, DType type) {
  if (stored == type) return true;
  if (type == DType::kU32) return stored == DType::kI32;
  return type == DType::kU64 && stored == DType::kI64;
}

}  // namespace

Result<std::vector<int64_t>> IntsOf(const KernelCall& call, size_t i) {
  return ValuesOf<int64_t>(call, i, DType::kI64);
}
Result<std::vector<double>> NumbersOf(const KernelCall& call, size_t i) {
  return ValuesOf<double>(call, i, DType::kF64);
}

Result<std::vector<int64_t>> StretchedStrides(const TensorView& view, const Shape& shape) {
  return StretchSteps(view, shape);
}

Result<const std::byte*> ElementsAs(const KernelCall& call, const TensorView& view, DType type) {
  if (SameBits(view.dtype, type)) return view.data;
  SBP_ASSIGN_OR_RETURN(std::byte * copy, call.stream->Scratch(view.elements() * ElementBytes(type)));
  SBP_RETURN_IF_ERROR(Convert(*call.stream, view.dtype, view.data, type, copy, view.elements()));
  return copy;
}

Result<std::byte*> ResultAs(const KernelCall& call, TensorView& view, DType type) {
  if (SameBits(view.dtype, type)) return view.data;
  return call.stream->Scratch(view.elements() * ElementBytes(type));
}

Status FinishResult(const KernelCall& call, const std::byte* elements, DType type, TensorView& view) {
  if (elements == view.data) return OkStatus();
  return Convert(*call.stream, type, elements, view.dtype, view.data, view.elements());
}

}  // namespace sbp::SBP_GPU_BUILD
