#include "fold/evaluate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernel/literals.h"

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
  return IsInteger(type) || type == DType::kBool || type == DType::kF64 || type == DType::kF32 ||
         type == DType::kF16 || type == DType::kBF16;
}

bool IsSmall(const TensorType& type) {
  return type.kind == ValueKind::kTensor && type.is_static() && type.num_elements() <= kMaxLiteralElements;
}

std::vector<int64_t> Count(int64_t first, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// The values of all operands that move, one after the other, by one of the literal's lists.
template <typename T>
std::vector<T> Joined(const std::vector<const Literal*>& moved, std::vector<T> Literal::* list) {
  std::vector<T> all;
  for (const Literal* literal : moved) all.insert(all.end(), (literal->*list).begin(), (literal->*list).end());
  return all;
}

// What the elements at these places of the operands are, under a shape.
Literal ValueAt(const std::vector<const Literal*>& moved, const std::vector<int64_t>& places, const Shape& shape) {
  const Literal& first = *moved.front();
  const auto same = [&] { return places == Count(0, first.type.num_elements()); };
  Literal value;
  if (moved.size() == 1 && static_cast<int64_t>(places.size()) == first.type.num_elements() && same()) {
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

std::optional<Evaluated> OpEvaluator::Run(const FoldableOp& row, const FoldRequest& request) {
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
  } else if (Result<std::vector<Literal>> values = Compute(request); values.ok()) {
    done = Evaluated{std::move(*values), {}};
    if (row.elements == Elements::kConverted) done->places = {Count(0, done->values[0].type.num_elements())};
  }
  if (!done && request.why != nullptr) *request.why = row.failure;
  return done;
}

// The results, in memory that the next call takes again.
Result<std::vector<TensorView>> OpEvaluator::RunProgram(const OpQuery& query, const AttributesRef& attributes) {
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, cache_.Instantiate(query, attributes));
  for (const TensorType& type : instance->results) {
    if (!IsSmall(type)) return BadInput("a result is too large to be held");
  }
  auto [known, is_new] = programs_.try_emplace(instance);
  if (is_new) {
    Result<OpProgram> program = OpProgram::Make(query, attributes, *instance, cache_.rules());
    if (program.ok()) known->second = std::move(*program);
  }
  if (!known->second) return BadInput("no kernel computes it");
  memory_.Reset();
  std::vector<TensorView> operands;
  for (const OperandInfo& operand : query.operands) {
    TensorView& view = operands.emplace_back();
    if (!operand.present) continue;
    view = WholeView(operand.type.dtype, operand.type.shape, nullptr);
    if (operand.value == nullptr) continue;  // its type alone is read
    view.data = memory_.Allocate(operand.type.num_bytes());
    SBP_RETURN_IF_ERROR(FillView(*operand.value, view));
  }
  return known->second->Run(operands, memory_);
}

Result<std::vector<Literal>> OpEvaluator::Compute(const FoldRequest& request) {
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorView> results, RunProgram(request.query, request.attributes));
  std::vector<Literal> values;
  for (const TensorView& view : results) {
    if (!IsComputed(view.dtype)) return BadInput("a result is of a type that is not computed");
    SBP_ASSIGN_OR_RETURN(Literal value, LiteralOf(view));
    values.push_back(std::move(value));
  }
  return values;
}

// The op runs on the places of the elements instead of the elements, which may be of any type.
std::optional<Evaluated> OpEvaluator::Move(const FoldableOp& row, const FoldRequest& request) {
  OpQuery query = request.query;
  std::vector<const Literal*> moved;
  std::vector<Literal> places(query.operands.size()), sizes(query.operands.size());
  int64_t count = 0;
  for (size_t i = 0; i < query.operands.size(); ++i) {
    OperandInfo& operand = query.operands[i];
    if (!operand.present || !row.moves(i)) continue;
    if (row.needs_values) {
      moved.push_back(operand.value);
      if (operand.type.dtype != moved.front()->type.dtype) return std::nullopt;
      places[i] = Literal::Ints(Count(count, operand.type.num_elements()));
      places[i].type.shape = operand.type.shape;
      operand.value = &places[i];
    } else {
      sizes[i] = Literal::Ints(operand.type.shape);
      moved.push_back(&sizes[i]);
      operand.type.shape = Count(count, operand.type.rank());
      operand.value = nullptr;
    }
    operand.type.dtype = DType::kI64;
    count += moved.back()->type.num_elements();
  }
  if (moved.empty()) return std::nullopt;
  if (row.size >= 0) return Evaluated{{Literal::Scalar(moved[0]->ints[static_cast<size_t>(row.size)])}, {{row.size}}};
  const Result<std::vector<TensorView>> results = RunProgram(query, request.attributes);
  if (!results.ok()) return std::nullopt;
  Evaluated done;
  for (const TensorView& view : *results) {
    if (view.dtype != DType::kI64) return std::nullopt;
    const auto* first = view.as<int64_t>();
    std::vector<int64_t>& from = done.places.emplace_back(first, first + view.elements());
    const auto is_place = [&](int64_t place) { return place >= 0 && place < count; };
    if (!std::ranges::all_of(from, is_place)) return std::nullopt;
    done.values.push_back(ValueAt(moved, from, view.shape));
  }
  return done;
}

}  // namespace sbp
