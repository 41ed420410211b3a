#include "fold/evaluate.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "kernel/literals.h"
#include "kernel/view.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

bool HasValues(const Literal& literal) {
  const size_t held = literal.ints.size() + literal.floats.size() + literal.strings.size();
  return static_cast<int64_t>(held) == literal.type.num_elements();
}

bool IsReady(const FoldableOp& row, const FoldRequest& request) {
  const std::vector<OperandInfo>& operands = request.query.operands;
  const size_t required = row.required == FoldableOp::kAll ? operands.size() : static_cast<size_t>(row.required);
  if (operands.size() < required || operands.empty()) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present) {
      if (i < required) return false;
    } else if (row.needs_values) {
      // A literal of a large or stripped constant has a type only.
      if (operands[i].value == nullptr || !HasValues(*operands[i].value)) return false;
    } else if (row.size >= 0) {
      const TensorType& type = operands[i].type;
      if (type.kind != ValueKind::kSequence || type.rank() <= row.size) return false;
      if (type.shape[static_cast<size_t>(row.size)] == kUnknownDim) return false;
    } else if (!operands[i].type.is_static()) {
      return false;
    }
  }
  return true;
}

// Types whose numbers a literal's list holds, and arithmetic rounds alike everywhere.
bool IsComputed(DType type) {
  return IsInteger(type) || type == DType::kBool || type == DType::kF64 || type == DType::kF32 || type == DType::kF16 ||
         type == DType::kBF16;
}

bool IsSmall(const TensorType& type) {
  return type.kind == ValueKind::kTensor && type.is_static() && type.num_elements() <= kMaxLiteralElements;
}

bool CountsFrom(int64_t first, const std::vector<int64_t>& numbers) {
  for (const int64_t number : numbers) {
    if (number != first++) return false;
  }
  return true;
}

// The values of all operands that move, one after the other, by one of the literal's lists.
template <typename T>
std::vector<T> Joined(const std::vector<const Literal*>& moved, std::vector<T> Literal::*list) {
  std::vector<T> all;
  for (const Literal* literal : moved) all.insert(all.end(), (literal->*list).begin(), (literal->*list).end());
  return all;
}

// What the elements at these places of the operands are, under a shape.
Literal ValueAt(const std::vector<const Literal*>& moved, const std::vector<int64_t>& places, const Shape& shape) {
  const Literal& first = *moved.front();
  Literal value;
  if (moved.size() == 1 && static_cast<int64_t>(places.size()) == first.type.num_elements() && CountsFrom(0, places)) {
    value = first;
    if (shape != first.type.shape) value.raw.clear();
  } else {
    value.type.dtype = first.type.dtype;
    if (!first.ints.empty() || first.is_integral())
      value.ints = ElementsAt(places, Joined(moved, &Literal::ints));
    else if (IsFloat(first.type.dtype))
      value.floats = ElementsAt(places, Joined(moved, &Literal::floats));
    else
      value.strings = ElementsAt(places, Joined(moved, &Literal::strings));
  }
  value.type.shape = shape;
  return value;
}

}  // namespace

std::optional<Evaluated> OpEvaluator::Run(const FoldableOp& row, FoldRequest& request) {
  if (!IsReady(row, request)) return std::nullopt;
  if (row.leave != nullptr) {
    if (const std::string_view reason = row.leave(request.query); !reason.empty()) {
      if (request.why != nullptr) *request.why = reason;
      return std::nullopt;
    }
  }
  std::optional<Evaluated> done;
  if (row.elements == Elements::kMoved) {
    done = Move(row, request);
  } else if (Result<std::vector<Literal>> values = Compute(row, request); values.ok()) {
    done = Evaluated{std::move(*values), {}};
    if (row.elements == Elements::kConverted) {
      std::vector<int64_t>& places =
          done->places.emplace_back(static_cast<size_t>(done->values[0].type.num_elements()));
      std::iota(places.begin(), places.end(), int64_t{0});
    }
  }
  if (!done && request.why != nullptr) *request.why = row.failure;
  return done;
}

const std::vector<bool>& OpEvaluator::DecidesForm(const FoldableOp& row, size_t operands) {
  std::vector<bool>& decides = decides_form_[&row];
  while (decides.size() < operands) decides.push_back(cache_.rules().ValueDecidesForm(row.op, decides.size()));
  return decides;
}

Result<std::vector<const TensorView*>> OpEvaluator::RunProgram(const FoldableOp& row, FoldRequest& request,
                                                               const std::vector<int64_t>& first) {
  memory_.Reset();
  const std::vector<bool>& decides = DecidesForm(row, request.query.operands.size());
  std::vector<std::byte*> operands(request.query.operands.size(), nullptr);
  for (size_t i = 0; i < operands.size(); ++i) {
    OperandInfo& operand = request.query.operands[i];
    if (!operand.present || (operand.value == nullptr && first[i] < 0)) continue;
    operands[i] = memory_.Allocate(operand.type.num_bytes());
    if (first[i] >= 0) {
      auto* numbers = reinterpret_cast<int64_t*>(operands[i]);
      std::iota(numbers, numbers + operand.type.num_elements(), first[i]);
    } else {
      const TensorType& type = operand.value->type;
      if (type.dtype != operand.type.dtype || type.shape != operand.type.shape)
        return Defect("a value is not of its operand's type");
      SBP_RETURN_IF_ERROR(WriteElements(*operand.value, operands[i]));
    }
    if (!decides[i]) operand.value = nullptr;
  }
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, cache_.Instantiate(request.query, request.attributes));
  for (const TensorType& type : instance->results) {
    if (!IsSmall(type)) return BadInput("a result is too large to be held");
    if (row.elements == Elements::kCombined && type.num_elements() > 0 &&
        request.query.operands[0].type.num_elements() == 0) {
      return BadInput("a result combines no elements");
    }
  }
  auto [known, is_new] = programs_.try_emplace(instance);
  if (is_new) {
    Result<OpProgram> program = OpProgram::Make(request.query, request.attributes, *instance, cache_.rules());
    if (program.ok()) known->second = std::move(*program);
  }
  if (!known->second) return BadInput("no kernel computes it");
  return known->second->Run(operands, memory_);
}

Result<std::vector<Literal>> OpEvaluator::Compute(const FoldableOp& row, FoldRequest& request) {
  const std::vector<int64_t> values_as_they_are(request.query.operands.size(), -1);
  SBP_ASSIGN_OR_RETURN(const std::vector<const TensorView*> results, RunProgram(row, request, values_as_they_are));
  std::vector<Literal> values;
  values.reserve(results.size());
  for (const TensorView* view : results) {
    if (!IsComputed(view->dtype)) return BadInput("a result is of a type that is not computed");
    SBP_ASSIGN_OR_RETURN(Literal value, LiteralOf(*view));
    values.push_back(std::move(value));
  }
  return values;
}

// The op runs on the places of the elements instead of the elements, which may be of any type.
std::optional<Evaluated> OpEvaluator::Move(const FoldableOp& row, FoldRequest& request) {
  std::vector<OperandInfo>& operands = request.query.operands;
  std::vector<const Literal*> moved;
  std::vector<Literal> sizes(row.needs_values ? 0 : operands.size());
  std::vector<int64_t> first(operands.size(), -1);
  int64_t count = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present || !row.moves(i)) continue;
    if (row.needs_values) {
      moved.push_back(operands[i].value);
      if (operands[i].type.dtype != moved.front()->type.dtype) return std::nullopt;
      first[i] = count;
    } else {
      sizes[i] = Literal::Ints(operands[i].type.shape);
      moved.push_back(&sizes[i]);
      std::iota(operands[i].type.shape.begin(), operands[i].type.shape.end(), count);
    }
    operands[i].value = nullptr;
    operands[i].type.dtype = DType::kI64;
    count += moved.back()->type.num_elements();
  }
  if (moved.empty()) return std::nullopt;
  if (row.size >= 0) return Evaluated{{Literal::Scalar(moved[0]->ints[static_cast<size_t>(row.size)])}, {{row.size}}};
  const Result<std::vector<const TensorView*>> results = RunProgram(row, request, first);
  if (!results.ok()) return std::nullopt;
  Evaluated done;
  for (const TensorView* view : *results) {
    if (view->dtype != DType::kI64) return std::nullopt;
    const auto* numbers = view->as<int64_t>();
    std::vector<int64_t>& from = done.places.emplace_back(numbers, numbers + view->elements());
    const auto is_place = [&](int64_t place) { return place >= 0 && place < count; };
    if (!std::ranges::all_of(from, is_place)) return std::nullopt;
    done.values.push_back(ValueAt(moved, from, view->shape));
  }
  return done;
}

}  // namespace sbp
