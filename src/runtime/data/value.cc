#include "runtime/data/value.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "kernel/kernel.h"
#include "runtime/data/machine_memory.h"

namespace sbp {
namespace {

constexpr int64_t kAlignment = 64;

// The wide type that holds every value of the literal, converted by the Cast kernel.
Status FillFrom(const Literal& literal, Value& target) {
  const bool integral = literal.is_integral();
  const size_t count = integral ? literal.ints.size() : literal.floats.size();
  if (static_cast<int64_t>(count) != target.view.elements()) {
    return Defect(StrCat("a literal of ", count, " values for ", ToString(literal.type)));
  }
  std::vector<int64_t> ints = literal.ints;
  std::vector<double> floats = literal.floats;
  TensorView wide = target.view;
  wide.dtype = integral ? DType::kI64 : DType::kF64;
  wide.data = integral ? reinterpret_cast<std::byte*>(ints.data()) : reinterpret_cast<std::byte*>(floats.data());
  if (wide.dtype == target.view.dtype) {
    if (count > 0) std::memcpy(target.view.data, wide.data, count * 8);
    return OkStatus();
  }
  const KernelRow* cast = FindKernel("Cast", wide.dtype);
  if (cast == nullptr) return Defect("no kernel casts literals");
  Attributes attributes;
  attributes.Set("to", static_cast<int64_t>(target.view.dtype));
  Scratch scratch;
  KernelCall call;
  call.op_type = "Cast";
  call.attributes = &attributes;
  call.inputs = {wide};
  call.outputs = {target.view};
  call.scratch = &scratch;
  return cast->run(call);
}

}  // namespace

std::shared_ptr<std::byte> AllocateBytes(int64_t bytes) {
  const int64_t size = (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  // The system promises more than it has, and ends the process when it is taken at its word.
  constexpr int64_t kAskFrom = 1 << 24;
  if (size >= kAskFrom && AvailableMemory().value_or(size) < size) return nullptr;
  // Large pages where the system gives them to those who ask: copies are faster, and take as long in one process as in
  // another, whatever small pages each was given.
  constexpr int64_t kLargePage = int64_t{1} << 21;
  const bool is_large = size >= 2 * kLargePage;
  void* memory = nullptr;
  const size_t alignment = is_large ? kLargePage : kAlignment;
  if (posix_memalign(&memory, alignment, static_cast<size_t>(size)) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  if (is_large) static_cast<void>(madvise(memory, static_cast<size_t>(size / kLargePage * kLargePage), MADV_HUGEPAGE));
#endif
  std::memset(memory, 0, static_cast<size_t>(size));
  return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

Result<Value> MakeTensor(DType dtype, Shape shape) {
  Value value;
  const TensorType type{dtype, shape};
  if (dtype == DType::kString) return RunFailed("tensors of strings are not executed");
  value.memory = AllocateBytes(type.num_bytes());
  if (value.memory == nullptr) {
    return RunFailed(StrCat("out of memory: ", type.num_bytes(), " bytes for ", ToString(type)));
  }
  value.view = WholeView(dtype, std::move(shape), value.memory.get());
  return value;
}

Result<Value> MakeTensor(const Literal& literal) {
  SBP_ASSIGN_OR_RETURN(Value value, MakeTensor(literal.type.dtype, literal.type.shape));
  const bool has_list = literal.is_integral() || IsFloat(literal.type.dtype);
  if (has_list) {
    SBP_RETURN_IF_ERROR(FillFrom(literal, value));
  } else if (static_cast<int64_t>(literal.raw.size()) == value.view.bytes()) {
    std::memcpy(value.view.data, literal.raw.data(), literal.raw.size());
  } else {
    return Defect(StrCat("a literal of ", ToString(literal.type), " without values"));
  }
  return value;
}

LiteralRef SmallValues(const TensorView& view) {
  const bool integral = IsInteger(view.dtype) || view.dtype == DType::kBool;
  // Of floats only lists (scales, ratios): larger ones are data, from which no size follows.
  const bool list = IsFloat(view.dtype) && view.shape.size() <= 1;
  if ((!integral && !list) || !view.is_whole() || view.elements() > kMaxLiteralElements) return nullptr;
  auto literal = std::make_shared<Literal>();
  literal->type = {view.dtype, view.shape};
  const auto count = static_cast<size_t>(view.elements());
  literal->ints.resize(integral ? count : 0);
  literal->floats.resize(integral ? 0 : count);
  const KernelRow* cast = FindKernel("Cast", view.dtype);
  if (cast == nullptr) return nullptr;
  const DType wide = integral ? DType::kI64 : DType::kF64;
  std::byte* data = integral ? reinterpret_cast<std::byte*>(literal->ints.data())
                             : reinterpret_cast<std::byte*>(literal->floats.data());
  Attributes attributes;
  attributes.Set("to", static_cast<int64_t>(wide));
  Scratch scratch;
  KernelCall call;
  call.op_type = "Cast";
  call.attributes = &attributes;
  call.inputs = {view};
  call.outputs = {WholeView(wide, view.shape, data)};
  call.scratch = &scratch;
  if (view.elements() > 0 && !cast->run(call).ok()) return nullptr;
  return literal;
}

}  // namespace sbp
