#include "kernel/literals.h"

#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "kernel/kernel.h"

namespace sbp {
namespace {

// Between a literal's wide elements and those of a type: the Cast kernel converts every number as the type has it.
Status CastElements(const TensorView& from, const TensorView& to) {
  if (from.elements() == 0) return OkStatus();
  const KernelRow* cast = FindKernel("Cast", from.dtype);
  if (cast == nullptr) return Defect("no kernel casts literals");
  Attributes attributes;
  attributes.Set("to", static_cast<int64_t>(to.dtype));
  Scratch scratch;
  KernelCall call;
  call.op_type = "Cast";
  call.attributes = &attributes;
  call.inputs = {from};
  call.outputs = {to};
  call.scratch = &scratch;
  return cast->run(call);
}

}  // namespace

Status WriteElements(const Literal& literal, std::byte* target) {
  const TensorType& type = literal.type;
  const bool integral = literal.is_integral();
  if (!integral && !IsFloat(type.dtype)) {
    if (type.dtype == DType::kString || static_cast<int64_t>(literal.raw.size()) != type.num_bytes())
      return Defect(StrCat("a literal of ", ToString(type), " without values"));
    std::memcpy(target, literal.raw.data(), literal.raw.size());
    return OkStatus();
  }
  const auto count = static_cast<int64_t>(integral ? literal.ints.size() : literal.floats.size());
  if (count != type.num_elements()) {
    return Defect(StrCat("a literal of ", count, " values for ", ToString(type)));
  }
  const DType wide = integral ? DType::kI64 : DType::kF64;
  // Kernels only read their operands.
  void* list = integral ? static_cast<void*>(const_cast<int64_t*>(literal.ints.data()))
                        : const_cast<double*>(literal.floats.data());
  if (type.dtype != wide)
    return CastElements(WholeView(wide, {count}, static_cast<std::byte*>(list)),
                        WholeView(type.dtype, {count}, target));
  if (count > 0) std::memcpy(target, list, static_cast<size_t>(count) * 8);
  return OkStatus();
}

Result<Literal> LiteralOf(const TensorView& view) {
  const bool integral = IsInteger(view.dtype) || view.dtype == DType::kBool;
  if (!integral && !IsFloat(view.dtype)) return Defect(StrCat("a literal holds no list of ", DTypeName(view.dtype)));
  Literal literal;
  literal.type = {view.dtype, view.shape};
  const auto count = static_cast<size_t>(view.elements());
  literal.ints.resize(integral ? count : 0);
  literal.floats.resize(integral ? 0 : count);
  std::byte* data = integral ? reinterpret_cast<std::byte*>(literal.ints.data())
                             : reinterpret_cast<std::byte*>(literal.floats.data());
  const DType wide = integral ? DType::kI64 : DType::kF64;
  if (view.dtype != wide) {
    SBP_RETURN_IF_ERROR(CastElements(view, WholeView(wide, view.shape, data)));
  } else if (count > 0) {
    std::memcpy(data, view.data, count * 8);
  }
  return literal;
}

}  // namespace sbp
