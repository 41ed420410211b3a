#include "kernel/operands.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <variant>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "kernel/convert.h"
#include "kernel/view.h"

namespace sbp {

std::vector<int64_t> ByteStrides(const TensorView& view) {
  std::vector<int64_t> strides = RowMajorStrides(view.shape);
  for (int64_t& stride : strides) stride *= ElementBytes(view.dtype);
  return strides;
}

Result<std::vector<int64_t>> TransposedStrides(const KernelCall& call) {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  const size_t rank = in.shape.size();
  const std::vector<int64_t>* perm = call.attributes->Ints("perm");
  if (perm != nullptr && perm->size() != rank) return RunFailed("perm does not fit the operand's rank");
  const std::vector<int64_t> from = ByteStrides(in);
  std::vector<int64_t> strides(rank);
  for (size_t d = 0; d < rank; ++d) {
    const size_t source = perm != nullptr ? static_cast<size_t>((*perm)[d]) : rank - 1 - d;
    if (source >= rank || out.shape[d] != in.shape[source])
      return Defect("the result's shape does not follow from perm");
    strides[d] = from[source];
  }
  return strides;
}

Status WalkConcatenation(const KernelCall& call,
                         const std::function<Status(const TensorView& operand, int64_t offset)>& copy) {
  const TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), out.rank()));
  const int64_t step = ByteStrides(out)[static_cast<size_t>(axis)];
  int64_t begin = 0;
  for (const TensorView& in : call.inputs) {
    if (!in.present()) continue;
    if (in.rank() != out.rank() || begin + in.shape[axis] > out.shape[axis])
      return Defect("the operands do not fit into the result");
    SBP_RETURN_IF_ERROR(copy(in, begin * step));
    begin += in.shape[axis];
  }
  return begin == out.shape[axis] ? OkStatus() : Defect("the operands do not fill the result");
}

std::vector<int64_t> IntsOf(const TensorView& view) {
  std::vector<int64_t> values(static_cast<size_t>(view.elements()));
  Convert(view.dtype, view.data, ElementBytes(view.dtype), DType::kI64, reinterpret_cast<std::byte*>(values.data()), 8,
          static_cast<int64_t>(values.size()));
  return values;
}

Result<int64_t> AxisIn(int64_t axis, int rank) {
  const int64_t counted = axis < 0 ? axis + rank : axis;
  if (counted < 0 || counted >= rank) return RunFailed(StrCat("axis ", axis, " is out of range for rank ", rank));
  return counted;
}

void SetSize(TensorView& view, size_t dim, int64_t size) {
  view.shape[dim] = size;
  view.whole[dim] = size;
  view.ranges[dim] = {0, size};
}

void ConstantElement(const KernelCall& call, DType type, std::byte* element) {
  std::memset(element, 0, 16);
  const AttributeValue* value = call.attributes->Find("value");
  const LiteralRef* given = value != nullptr ? std::get_if<LiteralRef>(value) : nullptr;
  const Literal* literal = given != nullptr ? given->get() : nullptr;
  if (literal == nullptr) return;
  if (IsComplex(type)) {
    std::memcpy(element, literal->raw.data(), std::min<size_t>(literal->raw.size(), 16));
  } else if (!literal->ints.empty()) {
    Convert(DType::kI64, reinterpret_cast<const std::byte*>(literal->ints.data()), 8, type, element, 16, 1);
  } else if (!literal->floats.empty()) {
    Convert(DType::kF64, reinterpret_cast<const std::byte*>(literal->floats.data()), 8, type, element, 16, 1);
  }
}

Result<std::vector<bool>> ReducedDims(const KernelCall& call, const std::vector<int64_t>* operand) {
  const int rank = call.inputs[0].rank();
  const std::vector<int64_t>* axes = operand != nullptr ? operand : call.attributes->Ints("axes");
  const bool none = axes == nullptr || axes->empty();
  std::vector<bool> reduced(static_cast<size_t>(rank), none && call.attributes->Int("noop_with_empty_axes", 0) == 0);
  if (none) return reduced;
  for (const int64_t axis : *axes) {
    SBP_ASSIGN_OR_RETURN(const int64_t d, AxisIn(axis, rank));
    reduced[static_cast<size_t>(d)] = true;
  }
  return reduced;
}

Status SizeOfTopK(std::span<const int64_t> k, int64_t axis, KernelCall& call) {
  const int64_t size = call.inputs[0].shape[static_cast<size_t>(axis)];
  if (k.size() != 1 || k[0] < 0 || k[0] > size) return RunFailed(StrCat("k must be one number of at most ", size));
  for (TensorView& out : call.outputs) {
    if (!out.present() || out.shape[axis] == k[0]) continue;
    if (out.shape[axis] < k[0]) return RunFailed("k is larger than was planned");
    SetSize(out, static_cast<size_t>(axis), k[0]);
  }
  return OkStatus();
}

bool HasPacked(const KernelCall& call) {
  const auto packed = [](const TensorView& view) { return view.present() && IsPacked(view.dtype); };
  return std::ranges::any_of(call.inputs, packed) || std::ranges::any_of(call.outputs, packed);
}

}  // namespace sbp
