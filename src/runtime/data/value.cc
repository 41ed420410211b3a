#include "runtime/data/value.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "kernel/literals.h"
#include "runtime/data/machine_memory.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr int64_t kAlignment = 64;

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
  SBP_RETURN_IF_ERROR(WriteElements(literal, value.view.data));
  return value;
}

LiteralRef SmallValues(const TensorView& view) {
  const bool integral = IsInteger(view.dtype) || view.dtype == DType::kBool;
  // Of floats only lists (scales, ratios): larger ones are data, from which no size follows.
  const bool list = IsFloat(view.dtype) && view.shape.size() <= 1;
  if ((!integral && !list) || !view.is_whole() || view.elements() > kMaxLiteralElements) return nullptr;
  Result<Literal> literal = LiteralOf(view);
  return literal.ok() ? std::make_shared<const Literal>(std::move(*literal)) : nullptr;
}

}  // namespace sbp
