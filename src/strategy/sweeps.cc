#include "strategy/sweeps.h"

#include <utility>

#include "base/hash.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/pins.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr size_t kAskEvery = 4096;  // visits between two looks at `cancelled`

// Even parts only: a suggestion that would cut a dimension unevenly is not taken up.
bool Fits(const TensorType& type, const NdSbp& layout, const Mesh& mesh) {
  return type.kind == ValueKind::kTensor && ValidateLayout(type.shape, layout, mesh, /*even_only=*/true).ok();
}

}  // namespace

Sweeps::Sweeps(const Problem& problem, std::vector<NdSbp> start, std::vector<bool> fixed)
    : problem_(problem),
      layouts_(std::move(start)),
      fixed_(std::move(fixed)),
      in_forward_(problem.num_ops()),
      in_backward_(problem.num_ops()) {
  for (const Tie& tie : problem.graph->ties) {
    tied_.emplace(tie.output, tie.input);
    tied_.emplace(tie.input, tie.output);
  }
}

void Sweeps::Push(OpId op, bool backward) {
  std::vector<bool>& queued = backward ? in_backward_ : in_forward_;
  if (queued[op.index()]) return;
  queued[op.index()] = true;
  if (backward) {
    backward_.push(op.value);
  } else {
    forward_.push(op.value);
  }
}

OpId Sweeps::Pop(bool backward) {
  const OpId op(backward ? backward_.top() : forward_.top());
  if (backward) {
    backward_.pop();
  } else {
    forward_.pop();
  }
  (backward ? in_backward_ : in_forward_)[op.index()] = false;
  return op;
}

bool Sweeps::Run(const std::function<bool()>& cancelled) {
  for (size_t o = 0; o < problem_.num_ops(); ++o) {
    Push(OpId(o), false);
    Push(OpId(o), true);
  }
  size_t visits = 0;
  const auto stop = [&] { return ++visits % kAskEvery == 0 && cancelled && cancelled(); };
  while (!forward_.empty() || !backward_.empty()) {
    while (!forward_.empty()) {
      VisitForward(Pop(false));
      if (stop()) return false;
    }
    while (!backward_.empty()) {
      VisitBackward(Pop(true));
      if (stop()) return false;
    }
  }
  return true;
}

const InferAnswer& Sweeps::Ask(OpId op, bool backward) {
  inputs_.clear();
  outputs_.clear();
  const auto operands = problem_.operands(op);
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto pin = problem_.pins.uses.find(UseKey(op, i));
    if (pin != problem_.pins.uses.end()) {
      inputs_.push_back(pin->second.layout);
    } else {
      inputs_.push_back(operands[i].valid() ? layout(operands[i]) : NdSbp(problem_.mesh.num_axes()));
    }
  }
  for (TensorId output : problem_.graph->op(op).outputs) {
    outputs_.push_back(output.valid() ? layout(output) : NdSbp(problem_.mesh.num_axes()));
  }
  const uint32_t op_class = problem_.class_of[op.index()];
  const size_t hash = HashRange(HashRange(HashCombine(op_class, backward), inputs_), outputs_);
  const auto [begin, end] = known_by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Known& known = known_[it->second];
    if (known.op_class == op_class && known.backward == backward && known.inputs == inputs_ &&
        known.outputs == outputs_) {
      return known.answer;
    }
  }
  InferRequest request;
  request.instance = problem_.candidates(op).instance;
  request.mesh = problem_.mesh;
  request.inputs = inputs_;
  request.outputs = outputs_;
  request.backward = backward;
  known_by_hash_.emplace(hash, static_cast<uint32_t>(known_.size()));
  known_.push_back({op_class, backward, inputs_, outputs_, InferLayouts(request)});
  return known_.back().answer;
}

void Sweeps::VisitForward(OpId op) {
  const std::vector<TensorId>& outputs = problem_.graph->op(op).outputs;
  if (const auto pin = problem_.pins.signatures.find(op); pin != problem_.pins.signatures.end()) {
    for (size_t r = 0; r < outputs.size(); ++r) Suggest(outputs[r], pin->second.signature.outputs[r], true);
    return;
  }
  const InferAnswer& answer = Ask(op, false);
  for (size_t r = 0; r < outputs.size(); ++r) Suggest(outputs[r], answer.outputs[r], true);
  // Inputs and parameters are updated to what the merge made of them; other operands are boxed.
  const auto operands = problem_.operands(op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].valid() && !problem_.graph->tensor(operands[i]).producer.valid()) {
      Suggest(operands[i], answer.inputs[i], false);
    }
  }
}

void Sweeps::VisitBackward(OpId op) {
  const auto operands = problem_.operands(op);
  if (const auto pin = problem_.pins.signatures.find(op); pin != problem_.pins.signatures.end()) {
    for (size_t i = 0; i < operands.size(); ++i) Suggest(operands[i], pin->second.signature.inputs[i], false);
    return;
  }
  const InferAnswer& answer = Ask(op, true);
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto pin = problem_.pins.uses.find(UseKey(op, i));
    Suggest(operands[i], pin != problem_.pins.uses.end() ? pin->second.layout : answer.inputs[i], false);
  }
}

bool Sweeps::Gain(TensorId tensor, const NdSbp& suggested, bool partial_too) {
  if (!tensor.valid() || fixed_[tensor.index()]) return false;
  NdSbp& layout = layouts_[tensor.index()];
  bool gained = false;
  for (int axis = 0; axis < layout.size(); ++axis) {
    if (!layout[axis].is_broadcast() || suggested[axis].is_broadcast()) continue;
    if (suggested[axis].is_partial() && !partial_too) continue;
    NdSbp wider = layout;
    wider[axis] = suggested[axis];
    if (!Fits(problem_.type(tensor), wider, problem_.mesh)) continue;
    layout = wider;
    gained = true;
  }
  return gained;
}

void Sweeps::AskNeighboursAgain(TensorId tensor) {
  const OpId producer = problem_.graph->tensor(tensor).producer;
  if (producer.valid()) Push(producer, true);
  const auto [begin, end] = problem_.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    Push(use->op, false);
    Push(use->op, true);
  }
}

void Sweeps::Suggest(TensorId tensor, const NdSbp& suggested, bool partial_too) {
  if (!Gain(tensor, suggested, partial_too)) return;
  AskNeighboursAgain(tensor);
  // An updated parameter should end as it starts, and start as it ends; a start is never partial.
  const auto [begin, end] = tied_.equal_range(tensor);
  for (auto tie = begin; tie != end; ++tie) {
    if (Gain(tie->second, layouts_[tensor.index()], false)) AskNeighboursAgain(tie->second);
  }
}

}  // namespace sbp
