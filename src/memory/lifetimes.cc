#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/held.h"
#include "graph/made_anew.h"
#include "graph/tensor_type.h"
#include "memory/lifetime_builder.h"
#include "memory/memory.h"
#include "plan/ends.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr uint32_t kAtTheEnd = std::numeric_limits<uint32_t>::max();

// The op before which each transition runs. Later transitions come first, so that chains are followed to their end.
std::vector<uint32_t> FirstReaders(const Plan& plan) {
  std::vector<uint32_t> readers(plan.transitions.size(), kAtTheEnd);
  std::unordered_map<TensorId, std::vector<size_t>> later;  // transitions of a tensor
  for (size_t i = plan.transitions.size(); i-- > 0;) {
    const Transition& transition = plan.transitions[i];
    for (const Use& use : transition.consumers) readers[i] = std::min(readers[i], use.op.value);
    if (transition.ahead_of.valid()) readers[i] = std::min(readers[i], transition.ahead_of.value);
    std::vector<size_t>& others = later[transition.tensor];
    for (const size_t other : others) {
      if (plan.transitions[other].from == transition.to) readers[i] = std::min(readers[i], readers[other]);
    }
    others.push_back(i);
  }
  return readers;
}

}  // namespace

LifetimeBuilder::LifetimeBuilder(const Plan& plan, const StepOrder& order)
    : plan_(plan), graph_(plan.graph), order_(order) {
  last_position_ = order.op_at.empty() ? 0 : static_cast<uint32_t>(order.op_at.size() - 1);
  AddTensors();
  copy_of_transition_.assign(plan_.transitions.size(), 0);
  source_of_transition_.assign(plan_.transitions.size(), 0);
  for (const uint32_t number : order_.in_order) AddTransition(number);
  ReadByOps();
  HoldForKernels();
  KeepEnds();
  buffers_.insert(buffers_.end(), intermediates_.begin(), intermediates_.end());
}

// One lifetime a tensor, so that tensor t's own one is buffers_[t].
void LifetimeBuilder::AddTensors() {
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Tensor& tensor = graph_.tensors[i];
    Lifetime lifetime;
    lifetime.tensor = TensorId(i);
    lifetime.bytes = LocalBytes(tensor.type, plan_.source_layouts[i], plan_.mesh);
    if (tensor.role == TensorRole::kActivation) {
      lifetime.first = lifetime.last = tensor.producer.valid() ? order_.ops[tensor.producer.index()] : 0;
    } else {
      lifetime.last = last_position_;
      lifetime.kind = tensor.role == TensorRole::kParameter ? "parameter" : "input";
    }
    buffers_.push_back(lifetime);
  }
  last_read_.assign(buffers_.size(), kUnread);
  is_boxed_.assign(buffers_.size(), false);
}

void LifetimeBuilder::AddTransition(uint32_t number) {
  const Transition& transition = plan_.transitions[number];
  if (transition.steps.empty()) return;
  Lifetime written;
  written.tensor = transition.tensor;
  written.transition = static_cast<int32_t>(number);
  written.kind = "boxing";
  is_boxed_[transition.tensor.index()] = true;
  std::vector<uint32_t>& copies = copies_[transition.tensor];
  const uint32_t first = order_.transitions[number];
  source_of_transition_[number] = SourceOf(transition, copies);
  Read(source_of_transition_[number], first);
  const auto count = static_cast<uint32_t>(transition.steps.size());
  for (uint32_t s = 0; s < count; ++s) {
    written.bytes = BytesIn(transition, transition.steps[s].to);
    written.first = first + s;
    written.last = s + 1 < count ? first + s + 1 : first + s;
    if (s + 1 < count) intermediates_.push_back(written);
  }
  written.bytes = BytesIn(transition, transition.to);
  for (const Use& use : transition.consumers) boxed_uses_[UseKey(use.op, use.operand)] = buffers_.size();
  copies.push_back(static_cast<uint32_t>(buffers_.size()));
  copy_of_transition_[number] = buffers_.size();
  buffers_.push_back(written);
  last_read_.push_back(kUnread);
}

// What the step leaves behind: a tensor as it was written, or a copy in its place.
void LifetimeBuilder::KeepEnds() {
  kept_.assign(buffers_.size(), false);
  for (const TensorEnd& end : EndsOf(plan_)) {
    const bool copied = end.transition >= 0 && copy_of_transition_[end.transition] > 0;
    const size_t buffer = copied ? copy_of_transition_[end.transition] : end.tensor.index();
    buffers_[buffer].last = last_position_;
    kept_[buffer] = true;
  }
}

// The lifetime that a transition reads: an earlier copy in that layout, else the tensor as it was written.
uint32_t LifetimeBuilder::SourceOf(const Transition& transition, const std::vector<uint32_t>& copies) const {
  for (uint32_t index : copies) {
    if (plan_.transitions[buffers_[index].transition].to == transition.from) return index;
  }
  return transition.tensor.value;
}

void LifetimeBuilder::Read(size_t buffer, uint32_t position) {
  buffers_[buffer].last = std::max(buffers_[buffer].last, position);
  last_read_[buffer] = last_read_[buffer] == kUnread ? position : std::max(last_read_[buffer], position);
}

size_t LifetimeBuilder::BufferOf(OpId op, uint32_t operand, TensorId tensor) const {
  if (!is_boxed_[tensor.index()]) return tensor.index();
  const auto boxed = boxed_uses_.find(UseKey(op, operand));
  return boxed == boxed_uses_.end() ? tensor.index() : boxed->second;
}

const NdSbp& LifetimeBuilder::LayoutOf(size_t buffer) const {
  const Lifetime& lifetime = buffers_[buffer];
  return lifetime.transition < 0 ? plan_.source_layouts[lifetime.tensor.index()]
                                 : plan_.transitions[lifetime.transition].to;
}

void LifetimeBuilder::ReadByOps() {
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    uint32_t operand = 0;
    for (const std::vector<TensorId>* list : {&graph_.ops[i].inputs, &graph_.ops[i].captures}) {
      for (TensorId id : *list) {
        if (id.valid()) Read(BufferOf(OpId(i), operand, id), order_.ops[i]);
        ++operand;
      }
    }
  }
  for (const HeldResult& held : FindHeld(graph_)) Read(held.tensor.index(), order_.ops[held.until.index()]);
}

// What is made later than where its op stands, by another kernel or a later part of its own, is made of what has to be
// there then.
void LifetimeBuilder::HoldForKernels() {
  const std::vector<OpId> until = MadeAnewUntil(graph_, plan_.kernels);
  for (size_t o = 0; o < until.size(); ++o) {
    const Op& op = graph_.ops[o];
    const bool is_boxed =
        std::ranges::any_of(op.outputs, [&](TensorId id) { return id.valid() && is_boxed_[id.index()]; });
    if (until[o] == OpId(o) || is_boxed) continue;
    const std::vector<TensorId> operands = graph_.OperandsOf(op);
    for (uint32_t i = 0; i < operands.size(); ++i) {
      if (operands[i].valid()) Read(BufferOf(OpId(o), i, operands[i]), order_.ops[until[o].index()]);
    }
  }
}

int64_t LifetimeBuilder::BytesIn(const Transition& transition, const NdSbp& layout) const {
  return LocalBytes(graph_.tensor(transition.tensor).type, layout, plan_.mesh);
}

int64_t LocalBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh) {
  if (!type.is_static()) return 0;
  int64_t elements = 1;
  for (int64_t size : LocalShape(type.shape, sbp, mesh)) elements = SaturatingMul(elements, size);
  return BytesOf(type.dtype, elements);
}

StepOrder OrderOfStep(const Plan& plan) {
  const std::vector<uint32_t> readers = FirstReaders(plan);
  StepOrder order;
  order.in_order.resize(readers.size());
  std::iota(order.in_order.begin(), order.in_order.end(), 0);
  std::stable_sort(order.in_order.begin(), order.in_order.end(),
                   [&](uint32_t a, uint32_t b) { return readers[a] < readers[b]; });
  order.transitions.resize(readers.size());
  size_t next = 0;
  const auto run_until = [&](uint32_t op, OpId prepared) {
    for (; next < order.in_order.size() && readers[order.in_order[next]] <= op; ++next) {
      const uint32_t number = order.in_order[next];
      order.transitions[number] = static_cast<uint32_t>(order.op_at.size());
      order.op_at.insert(order.op_at.end(), plan.transitions[number].steps.size(), prepared);
    }
  };
  for (uint32_t o = 0; o < plan.graph.ops.size(); ++o) {
    run_until(o, OpId(o));
    order.ops.push_back(static_cast<uint32_t>(order.op_at.size()));
    order.op_at.push_back(OpId(o));
  }
  run_until(kAtTheEnd, plan.graph.ops.empty() ? OpId() : OpId(plan.graph.ops.size() - 1));
  return order;
}

namespace {

// What is inside a kernel group that no transition cuts there takes nothing; nor does what an op without a kernel
// gives, which lies where its operand does, so that this lives as long.
void ShareMemoryInKernels(const Plan& plan, LifetimeBuilder& builder) {
  std::vector<Lifetime>& buffers = builder.buffers();
  for (size_t o = plan.graph.ops.size(); o-- > 0;) {
    const Op& op = plan.graph.ops[o];
    if (!plan.kernels.runs_no_kernel(OpId(o)) || op.inputs.empty() || !op.inputs[0].valid()) continue;
    Lifetime& source = buffers[builder.BufferOf(OpId(o), 0, op.inputs[0])];
    for (const TensorId result : op.outputs) {
      if (!result.valid()) continue;
      source.last = std::max(source.last, buffers[result.index()].last);
      buffers[result.index()].bytes = 0;
    }
  }
  // Boxed, or lying where something boxed does: in memory.
  std::vector<bool> moved(plan.graph.tensors.size(), false);
  for (const Transition& transition : plan.transitions) moved[transition.tensor.index()] = true;
  for (size_t o = plan.graph.ops.size(); o-- > 0;) {
    const Op& op = plan.graph.ops[o];
    if (!plan.kernels.runs_no_kernel(OpId(o)) || op.inputs.empty() || !op.inputs[0].valid()) continue;
    for (const TensorId result : op.outputs) {
      if (result.valid() && moved[result.index()]) moved[op.inputs[0].index()] = true;
    }
  }
  for (size_t t = 0; t < moved.size(); ++t) {
    if (plan.kernels.is_inside(TensorId(t)) && !moved[t]) buffers[t].bytes = 0;
  }
}

}  // namespace

std::vector<Lifetime> Lifetimes(const Plan& plan, const StepOrder& order) {
  return Lifetimes(plan, order, LifetimeBuilder(plan, order));
}

std::vector<Lifetime> Lifetimes(const Plan& plan, const StepOrder& order, LifetimeBuilder builder) {
  std::vector<Lifetime>& buffers = builder.buffers();
  for (const InPlaceWrite& write : plan.in_place) {
    const Op& op = plan.graph.op(write.op);
    const TensorId read = plan.graph.OperandsOf(op)[write.operand], written = op.outputs[write.result];
    Lifetime& source = buffers[builder.BufferOf(write.op, write.operand, read)];
    if (source.transition < 0 && plan.graph.tensor(read).role != TensorRole::kActivation) {
      buffers[written.index()].bytes = 0;
    } else {
      source.last = std::max(order.ops[write.op.index()], 1U) - 1;
    }
  }
  if (!plan.kernels.empty()) ShareMemoryInKernels(plan, builder);
  return std::move(buffers);
}

}  // namespace sbp
