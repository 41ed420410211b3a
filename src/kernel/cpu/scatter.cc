// Scatter: a copy of the data with updates written, or combined, at indices. Indices count in the whole; those of other
// devices' parts are left out.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/indices.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/scalar/binary.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

// Combines n elements of `update` into `cell`, both of type `type`; how: the functor.
using Combine = void (*)(DType type, std::byte* cell, const std::byte* update, int64_t n);

template <typename T, typename F>
void CombineAs(DType type, DType compute, std::byte* cell, const std::byte* update, int64_t n) {
  const int64_t bytes = ElementBytes(type);
  constexpr F kF;
  for (int64_t i = 0; i < n; ++i) {
    T a, b;
    Convert(type, cell + i * bytes, bytes, compute, reinterpret_cast<std::byte*>(&a), sizeof(T), 1);
    Convert(type, update + i * bytes, bytes, compute, reinterpret_cast<std::byte*>(&b), sizeof(T), 1);
    a = kF(a, b);
    Convert(compute, reinterpret_cast<std::byte*>(&a), sizeof(T), type, cell + i * bytes, bytes, 1);
  }
}

template <typename F>
void CombineWith(DType type, std::byte* cell, const std::byte* update, int64_t n) {
  switch (ComputeType(type)) {
    case DType::kF32:
      return CombineAs<float, F>(type, DType::kF32, cell, update, n);
    case DType::kF64:
      return CombineAs<double, F>(type, DType::kF64, cell, update, n);
    case DType::kU64:
      return CombineAs<uint64_t, F>(type, DType::kU64, cell, update, n);
    default:
      return CombineAs<int64_t, F>(type, DType::kI64, cell, update, n);
  }
}

void Replace(DType type, std::byte* cell, const std::byte* update, int64_t n) {
  std::memcpy(cell, update, static_cast<size_t>(n * ElementBytes(type)));
}

Result<Combine> CombineOf(const KernelCall& call) {
  const std::string how = call.attributes->String("reduction", "none");
  if (how == "none") return Combine{Replace};
  if (IsComplex(call.inputs[0].dtype)) return Defect("no kernel for this element type");
  if (how == "add") return Combine{CombineWith<scalar::AddOf>};
  if (how == "mul") return Combine{CombineWith<scalar::MulOf>};
  if (how == "max") return Combine{CombineWith<scalar::MaxOf>};
  if (how == "min") return Combine{CombineWith<scalar::MinOf>};
  return RunFailed("unknown reduction " + how);
}

// The result starts as a copy of the data.
Status CopyData(KernelCall& call) {
  const TensorView& data = call.inputs[0];
  if (data.shape != call.outputs[0].shape) return Defect("the result's shape is not that of the data");
  const int64_t bytes = data.elements() * ElementBytes(data.dtype);
  if (bytes > 0 && call.outputs[0].data != data.data)
    std::memcpy(call.outputs[0].data, data.data, static_cast<size_t>(bytes));
  return OkStatus();
}

Status ScatterElementsBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1], &updates = call.inputs[2];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), data.rank()));
  SBP_ASSIGN_OR_RETURN(const Combine combine, CombineOf(call));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, IndicesOf(which, data.whole[axis]));
  if (which.rank() != data.rank() || updates.shape != which.shape)
    return RunFailed("indices and updates differ in shape");
  SBP_RETURN_IF_ERROR(CopyData(call));
  const int64_t bytes = ElementBytes(data.dtype);
  const PartOffsets offsets(data, which, axis);
  IndexWalk walk(which.shape);
  for (size_t i = 0; i < indices.size(); ++i, walk.Next()) {
    const int64_t offset = offsets.At(walk.index(), indices[i]);
    if (offset < 0) continue;
    combine(data.dtype, call.outputs[0].data + offset * bytes, updates.data + static_cast<int64_t>(i) * bytes, 1);
  }
  return OkStatus();
}

Status ScatterNdBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1], &updates = call.inputs[2];
  SBP_ASSIGN_OR_RETURN(const Combine combine, CombineOf(call));
  SBP_ASSIGN_OR_RETURN(const Tuples tuples, TuplesOf(which, data, 0));
  if (updates.elements() != tuples.count * tuples.slice) return RunFailed("indices and updates differ in shape");
  SBP_RETURN_IF_ERROR(CopyData(call));
  const int64_t bytes = ElementBytes(data.dtype);
  for (int64_t i = 0; i < tuples.count; ++i) {
    if (tuples.offsets[i] < 0) continue;
    combine(data.dtype, call.outputs[0].data + tuples.offsets[i] * bytes, updates.data + i * tuples.slice * bytes,
            tuples.slice);
  }
  return OkStatus();
}

}  // namespace

Status ScatterElements(KernelCall& call) { return OnBytes(call, ScatterElementsBytes); }
Status ScatterNd(KernelCall& call) { return OnBytes(call, ScatterNdBytes); }

}  // namespace sbp::cpu
