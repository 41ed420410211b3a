// Sequences and optionals.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "runtime/data/value.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/special_ops.h"

namespace sbp {
namespace {

OpOutcome SequenceOf(std::vector<Value> entries) {
  Value value;
  value.sequence = std::make_shared<const std::vector<Value>>(std::move(entries));
  return std::vector<Value>{std::move(value)};
}

Result<std::vector<Value>> EntriesOf(const Value& value) {
  if (value.sequence == nullptr) return RunFailed("its first operand is no sequence");
  return *value.sequence;
}

// A position, counted from the end when negative; `fallback` without an operand. At most `limit`.
Result<int64_t> PositionIn(const std::vector<Value>& operands, size_t operand, int64_t size, int64_t limit,
                           int64_t fallback) {
  if (operands.size() <= operand || !operands[operand].present()) return fallback;
  SBP_ASSIGN_OR_RETURN(const int64_t given, SingleInteger(operands[operand], "the position"));
  const int64_t at = given < 0 ? given + size : given;
  if (at < 0 || at > limit) return RunFailed(StrCat("position ", given, " of a sequence of ", size));
  return at;
}

}  // namespace

OpOutcome RunSequenceConstruct(Interpreter&, const Graph&, const Op&, std::vector<Value> operands) {
  return SequenceOf(std::move(operands));
}

OpOutcome RunSequenceEmpty(Interpreter&, const Graph&, const Op&, std::vector<Value>) { return SequenceOf({}); }

OpOutcome RunSequenceInsert(Interpreter&, const Graph&, const Op&, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(std::vector<Value> entries, EntriesOf(operands[0]));
  const auto size = static_cast<int64_t>(entries.size());
  SBP_ASSIGN_OR_RETURN(const int64_t at, PositionIn(operands, 2, size, size, size));
  entries.insert(entries.begin() + at, operands[1]);
  return SequenceOf(std::move(entries));
}

OpOutcome RunSequenceErase(Interpreter&, const Graph&, const Op&, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(std::vector<Value> entries, EntriesOf(operands[0]));
  const auto size = static_cast<int64_t>(entries.size());
  if (size == 0) return RunFailed("the sequence is empty");
  SBP_ASSIGN_OR_RETURN(const int64_t at, PositionIn(operands, 1, size, size - 1, size - 1));
  entries.erase(entries.begin() + at);
  return SequenceOf(std::move(entries));
}

OpOutcome RunSequenceAt(Interpreter&, const Graph&, const Op&, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(const std::vector<Value> entries, EntriesOf(operands[0]));
  const auto size = static_cast<int64_t>(entries.size());
  if (size == 0) return RunFailed("the sequence is empty");
  SBP_ASSIGN_OR_RETURN(const int64_t at, PositionIn(operands, 1, size, size - 1, 0));
  return std::vector<Value>{entries[at]};
}

OpOutcome RunSequenceLength(Interpreter&, const Graph&, const Op&, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(const std::vector<Value> entries, EntriesOf(operands[0]));
  SBP_ASSIGN_OR_RETURN(Value length, MakeScalar(DType::kI64, static_cast<int64_t>(entries.size())));
  return std::vector<Value>{std::move(length)};
}

OpOutcome RunSplitToSequence(Interpreter&, const Graph&, const Op& op, std::vector<Value> operands) {
  const Value& input = operands[0];
  const auto rank = static_cast<int64_t>(input.view.shape.size());
  int64_t axis = op.attributes->Int("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return RunFailed(StrCat("axis ", axis, " of a tensor of rank ", rank));
  const int64_t size = input.view.shape[axis];
  std::vector<int64_t> parts;
  bool keep = op.attributes->Int("keepdims", 1) != 0;
  if (operands.size() > 1 && operands[1].present()) {
    const LiteralRef split = SmallValues(operands[1].view);
    if (split == nullptr || !split->is_integral()) return RunFailed("the sizes of the parts are no integers");
    keep = true;
    parts = split->ints;
    if (split->type.shape.empty()) {
      const int64_t step = parts[0];
      if (step <= 0) return RunFailed(StrCat("parts of ", step, " elements"));
      parts.assign(static_cast<size_t>(size / step), step);
      if (size % step != 0) parts.push_back(size % step);
    }
  } else {
    parts.assign(static_cast<size_t>(size), 1);
  }
  std::vector<Value> entries;
  int64_t at = 0;
  for (const int64_t part : parts) {
    auto entry = keep ? SliceAlong(input, axis, at, at + part) : TakeAlong(input, axis, at);
    if (!entry.ok()) return entry.status();
    entries.push_back(*std::move(entry));
    at += part;
  }
  if (at != size) return RunFailed(StrCat("parts of ", at, " elements in all for a dimension of ", size));
  return SequenceOf(std::move(entries));
}

OpOutcome RunConcatFromSequence(Interpreter&, const Graph&, const Op& op, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(const std::vector<Value> entries, EntriesOf(operands[0]));
  const int64_t axis = op.attributes->Int("axis", 0);
  const bool stack = op.attributes->Int("new_axis", 0) != 0;
  SBP_ASSIGN_OR_RETURN(Value joined, stack ? StackAlong(entries, axis) : ConcatAlong(entries, axis));
  return std::vector<Value>{std::move(joined)};
}

OpOutcome RunSequenceMap(Interpreter& interpreter, const Graph&, const Op& op, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(const Graph* const body, BodyOf(op, "body"));
  SBP_ASSIGN_OR_RETURN(const std::vector<Value> entries, EntriesOf(operands[0]));
  std::vector<std::vector<Value>> mapped(body->outputs.size());
  for (size_t e = 0; e < entries.size(); ++e) {
    std::vector<Value> inputs{entries[e]};
    for (size_t i = 1; i < op.inputs.size(); ++i) {
      const Value& other = operands[i];
      if (other.sequence != nullptr && other.sequence->size() <= e) return RunFailed("sequences of different lengths");
      inputs.push_back(other.sequence != nullptr ? (*other.sequence)[e] : other);
    }
    SBP_ASSIGN_OR_RETURN(inputs, BodyInputs(op, *body, operands, std::move(inputs)));
    SBP_ASSIGN_OR_RETURN(std::vector<Value> outputs,
                         interpreter.Run(*body, std::move(inputs), static_cast<int64_t>(e)));
    for (size_t r = 0; r < mapped.size(); ++r) mapped[r].push_back(std::move(outputs[r]));
  }
  std::vector<Value> results;
  for (std::vector<Value>& list : mapped) {
    results.emplace_back().sequence = std::make_shared<const std::vector<Value>>(std::move(list));
  }
  results.resize(op.outputs.size());
  return results;
}

OpOutcome RunOptional(Interpreter&, const Graph&, const Op&, std::vector<Value> operands) {
  if (!operands.empty() && operands[0].present()) return std::vector<Value>{operands[0]};
  Value none;
  none.none = true;
  return std::vector<Value>{none};
}

OpOutcome RunOptionalGetElement(Interpreter&, const Graph&, const Op&, std::vector<Value> operands) {
  if (operands[0].none) return RunFailed("the optional holds nothing");
  return std::vector<Value>{operands[0]};
}

OpOutcome RunOptionalHasElement(Interpreter&, const Graph&, const Op&, std::vector<Value> operands) {
  const bool has = !operands.empty() && operands[0].present() && !operands[0].none;
  SBP_ASSIGN_OR_RETURN(Value value, MakeScalar(DType::kBool, has ? 1 : 0));
  return std::vector<Value>{std::move(value)};
}

}  // namespace sbp
