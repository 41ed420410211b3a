// If, Loop and Scan: subgraphs run by the interpreter.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "runtime/data/value.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/special_ops.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Entry i of a list attribute, 0 where it has none.
int64_t EntryOf(const Op& op, std::string_view name, size_t i) {
  const std::vector<int64_t>* list = op.attributes->Ints(name);
  return list != nullptr && i < list->size() ? (*list)[i] : 0;
}

// What a loop's body writes in each round, joined when it ends. Without a round: a tensor with a dimension of 0.
Result<Value> JoinRounds(std::vector<Value> rounds, int64_t axis, bool reversed, const TensorType& of_round) {
  if (reversed) std::reverse(rounds.begin(), rounds.end());
  if (!rounds.empty()) return StackAlong(rounds, axis);
  Shape shape = of_round.shape;
  for (int64_t& size : shape) size = std::max<int64_t>(size, 0);
  const auto rank = static_cast<int64_t>(shape.size()) + 1;
  shape.insert(shape.begin() + (axis < 0 ? axis + rank : axis), 0);
  return MakeTensor(of_round.dtype, std::move(shape));
}

}  // namespace

Result<const Graph*> BodyOf(const Op& op, std::string_view name) {
  const AttributeValue* value = op.attributes->Find(name);
  const auto* graph = value == nullptr ? nullptr : std::get_if<std::shared_ptr<const Graph>>(value);
  if (graph == nullptr || *graph == nullptr) return RunFailed(StrCat("it has no subgraph ", Quote(name)));
  return graph->get();
}

Result<std::vector<Value>> BodyInputs(const Op& op, const Graph& body, const std::vector<Value>& operands,
                                      std::vector<Value> explicit_inputs) {
  const size_t captured = body.inputs.size() - std::min(body.inputs.size(), explicit_inputs.size());
  // The captures of the subgraphs follow each other in the order of the attributes.
  size_t first = op.inputs.size();
  for (const auto& [name, value] : op.attributes->entries()) {
    const auto* other = std::get_if<std::shared_ptr<const Graph>>(&value);
    if (other == nullptr) continue;
    if (other->get() == &body) break;
    first += (*other)->inputs.size() - std::min((*other)->inputs.size(), explicit_inputs.size());
  }
  if (first + captured > operands.size()) {
    return RunFailed(StrCat("a subgraph of ", body.inputs.size(), " inputs gets ", explicit_inputs.size(), " and ",
                            operands.size() - op.inputs.size(), " captures"));
  }
  for (size_t i = 0; i < captured; ++i) explicit_inputs.push_back(operands[first + i]);
  return explicit_inputs;
}

Result<int64_t> SingleInteger(const Value& value, std::string_view what) {
  const LiteralRef literal = value.view.present() ? SmallValues(value.view) : nullptr;
  if (literal == nullptr || literal->ints.size() != 1) return RunFailed(StrCat(what, " is no single integer"));
  return literal->ints[0];
}

Result<Value> MakeScalar(DType dtype, int64_t value) { return MakeTensor(Literal::Scalar(value, dtype)); }

OpOutcome RunIf(Interpreter& interpreter, const Graph&, const Op& op, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(const int64_t condition, SingleInteger(operands[0], "the condition"));
  SBP_ASSIGN_OR_RETURN(const Graph* const branch, BodyOf(op, condition != 0 ? "then_branch" : "else_branch"));
  SBP_ASSIGN_OR_RETURN(std::vector<Value> inputs, BodyInputs(op, *branch, operands, {}));
  return interpreter.Run(*branch, std::move(inputs));
}

OpOutcome RunLoop(Interpreter& interpreter, const Graph&, const Op& op, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(const Graph* const body, BodyOf(op, "body"));
  int64_t trips = kInt64Max, go_on = 1;
  if (operands[0].present()) {
    SBP_ASSIGN_OR_RETURN(trips, SingleInteger(operands[0], "the trip count"));
  }
  if (operands.size() > 1 && operands[1].present()) {
    SBP_ASSIGN_OR_RETURN(go_on, SingleInteger(operands[1], "the condition"));
  }
  const size_t carried = op.inputs.size() - std::min<size_t>(op.inputs.size(), 2);
  if (body->outputs.size() < carried + 1) return RunFailed("its body has too few outputs");
  std::vector<Value> state(operands.begin() + static_cast<std::ptrdiff_t>(op.inputs.size() - carried),
                           operands.begin() + static_cast<std::ptrdiff_t>(op.inputs.size()));
  std::vector<std::vector<Value>> rounds(body->outputs.size() - 1 - carried);
  for (int64_t i = 0; i < trips && go_on != 0; ++i) {
    std::vector<Value> inputs(2);
    SBP_ASSIGN_OR_RETURN(inputs[0], MakeScalar(DType::kI64, i));
    SBP_ASSIGN_OR_RETURN(inputs[1], MakeScalar(DType::kBool, 1));
    inputs.insert(inputs.end(), state.begin(), state.end());
    SBP_ASSIGN_OR_RETURN(inputs, BodyInputs(op, *body, operands, std::move(inputs)));
    SBP_ASSIGN_OR_RETURN(std::vector<Value> outputs, interpreter.Run(*body, std::move(inputs), i));
    SBP_ASSIGN_OR_RETURN(go_on, SingleInteger(outputs[0], "the condition that the body writes"));
    for (size_t s = 0; s < carried; ++s) state[s] = std::move(outputs[1 + s]);
    for (size_t s = 0; s < rounds.size(); ++s) rounds[s].push_back(std::move(outputs[1 + carried + s]));
  }
  for (size_t s = 0; s < rounds.size(); ++s) {
    const TensorType& of_round = body->tensor(body->outputs[1 + carried + s]).type;
    SBP_ASSIGN_OR_RETURN(Value joined, JoinRounds(std::move(rounds[s]), 0, false, of_round));
    state.push_back(std::move(joined));
  }
  state.resize(op.outputs.size());
  return state;
}

OpOutcome RunScan(Interpreter& interpreter, const Graph&, const Op& op, std::vector<Value> operands) {
  SBP_ASSIGN_OR_RETURN(const Graph* const body, BodyOf(op, "body"));
  const auto scanned = static_cast<size_t>(op.attributes->Int("num_scan_inputs", 0));
  if (scanned == 0 || scanned > op.inputs.size()) return RunFailed("num_scan_inputs does not fit its operands");
  const size_t states = op.inputs.size() - scanned;
  if (body->outputs.size() < states) return RunFailed("its body has too few outputs");
  std::vector<Value> state(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::vector<Value>> rounds(body->outputs.size() - states);
  int64_t trips = -1;
  for (size_t i = 0; i < scanned; ++i) {
    const Shape& shape = operands[states + i].view.shape;
    const int64_t axis = EntryOf(op, "scan_input_axes", i);
    const int64_t at = axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis;
    if (at < 0 || at >= static_cast<int64_t>(shape.size())) return RunFailed("a scan axis is out of range");
    if (trips >= 0 && shape[at] != trips) return RunFailed("the scanned dimensions differ in size");
    trips = shape[at];
  }
  for (int64_t t = 0; t < trips; ++t) {
    std::vector<Value> inputs = state;
    for (size_t i = 0; i < scanned; ++i) {
      const int64_t at = EntryOf(op, "scan_input_directions", i) != 0 ? trips - 1 - t : t;
      SBP_ASSIGN_OR_RETURN(Value slice, TakeAlong(operands[states + i], EntryOf(op, "scan_input_axes", i), at));
      inputs.push_back(std::move(slice));
    }
    SBP_ASSIGN_OR_RETURN(inputs, BodyInputs(op, *body, operands, std::move(inputs)));
    SBP_ASSIGN_OR_RETURN(std::vector<Value> outputs, interpreter.Run(*body, std::move(inputs), t));
    for (size_t s = 0; s < states; ++s) state[s] = std::move(outputs[s]);
    for (size_t s = 0; s < rounds.size(); ++s) rounds[s].push_back(std::move(outputs[states + s]));
  }
  for (size_t s = 0; s < rounds.size(); ++s) {
    const TensorType& of_round = body->tensor(body->outputs[states + s]).type;
    SBP_ASSIGN_OR_RETURN(Value joined, JoinRounds(std::move(rounds[s]), EntryOf(op, "scan_output_axes", s),
                                                  EntryOf(op, "scan_output_directions", s) != 0, of_round));
    state.push_back(std::move(joined));
  }
  state.resize(op.outputs.size());
  return state;
}

}  // namespace sbp
