#include "memory/training.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "memory/lifetime_builder.h"
#include "memory/memory.h"
#include "plan/plan.h"

namespace sbp {
namespace {

// In the order of PartsOf.
enum class BufferUse : uint8_t { kParameter, kGradient, kState, kKept, kActivation, kBuffer };

// As `grad` names them.
bool IsNamedGradient(std::string_view name) { return name.starts_with("grad/") || name.starts_with("acc/"); }

class TrainingBuffers {
 public:
  explicit TrainingBuffers(const Plan& plan)
      : plan_(plan), graph_(plan.graph), order_(OrderOfStep(plan)), builder_(plan, order_) {
    for (const Op& op : graph_.ops) phases_.push_back(PhaseOf(graph_, op));
    FindTensors();
    FindReadByBackward();
  }

  const StepOrder& order() const { return order_; }
  size_t size() { return builder_.buffers().size(); }

  BufferUse UseOf(size_t buffer) {
    const Lifetime& lifetime = builder_.buffers()[buffer];
    const BufferUse of_tensor = tensors_[lifetime.tensor.index()];
    if (IsKept(buffer)) return BufferUse::kKept;
    if (lifetime.transition < 0) return of_tensor;
    const bool is_final = buffer < read_by_backward_.size();
    return is_final && of_tensor == BufferUse::kGradient ? BufferUse::kGradient : BufferUse::kBuffer;
  }

  // Written by the forward pass, by an op or as a copy for one of its ops, and read by the backward pass.
  bool IsKept(size_t buffer) {
    if (buffer >= read_by_backward_.size() || !read_by_backward_[buffer]) return false;
    const Lifetime& lifetime = builder_.buffers()[buffer];
    const OpId producer = graph_.tensor(lifetime.tensor).producer;
    if (!producer.valid() || PhaseAt(lifetime.first) != Phase::kForward) return false;
    return tensors_[lifetime.tensor.index()] == BufferUse::kActivation;
  }

 private:
  Phase PhaseAt(uint32_t position) const {
    const OpId op = order_.op_at[position];
    return op.valid() ? phases_[op.index()] : Phase::kForward;
  }

  void FindTensors() {
    const std::vector<bool> of_parameters = OfParameters(graph_);
    tensors_.assign(graph_.tensors.size(), BufferUse::kActivation);
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      const Tensor& tensor = graph_.tensors[t];
      if (of_parameters[t]) tensors_[t] = BufferUse::kParameter;
      if (tensor.producer.valid() && IsNamedGradient(tensor.name)) tensors_[t] = BufferUse::kGradient;
    }
    // What the backward pass hands to the optimizer.
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (phases_[o] != Phase::kOptimizer) continue;
      for (const TensorId id : graph_.ops[o].inputs) {
        const OpId producer = id.valid() ? graph_.tensor(id).producer : OpId();
        if (producer.valid() && phases_[producer.index()] == Phase::kBackward)
          tensors_[id.index()] = BufferUse::kGradient;
      }
    }
    for (const Tie& tie : graph_.ties) {
      BufferUse& input = tensors_[tie.input.index()];
      if (graph_.tensor(tie.input).role == TensorRole::kInput)
        input = tie.restarts ? BufferUse::kGradient : BufferUse::kState;
      tensors_[tie.output.index()] = input;
    }
  }

  void FindReadByBackward() {
    // Tensors and finished copies; what steps in between write comes last, and only the next step reads it.
    read_by_backward_.assign(builder_.num_final(), false);
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (phases_[o] != Phase::kBackward) continue;
      uint32_t operand = 0;
      for (const auto* list : {&graph_.ops[o].inputs, &graph_.ops[o].captures}) {
        for (const TensorId id : *list) {
          if (id.valid()) read_by_backward_[builder_.BufferOf(OpId(o), operand, id)] = true;
          ++operand;
        }
      }
    }
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      if (plan_.transitions[i].steps.empty() || PhaseAt(order_.transitions[i]) != Phase::kBackward) continue;
      read_by_backward_[builder_.source(i)] = true;
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  const StepOrder order_;
  LifetimeBuilder builder_;
  std::vector<Phase> phases_;           // per op
  std::vector<BufferUse> tensors_;      // kKept is found per buffer
  std::vector<bool> read_by_backward_;  // per buffer
};

bool HasLayouts(const Plan& plan) {
  return !plan.graph.ops.empty() && plan.source_layouts.size() == plan.graph.tensors.size() && HasBackward(plan.graph);
}

}  // namespace

std::array<std::pair<std::string_view, int64_t>, 6> PartsOf(const MemorySplit& split) {
  return {{{"parameters", split.parameters},
           {"gradients", split.gradients},
           {"optimizer states", split.states},
           {"kept activations", split.kept},
           {"other activations", split.activations},
           {"boxing buffers", split.buffers}}};
}

std::optional<MemorySplit> SplitPeak(const Plan& plan) {
  if (plan.memory.peak_bytes == 0 || !HasLayouts(plan)) return std::nullopt;
  TrainingBuffers buffers(plan);
  const std::vector<Lifetime> lifetimes = Lifetimes(plan, buffers.order());
  const uint32_t peak = PeakPosition(buffers.order(), lifetimes);
  MemorySplit split;
  int64_t* const sums[] = {&split.parameters, &split.gradients,   &split.states,
                           &split.kept,       &split.activations, &split.buffers};
  for (size_t b = 0; b < lifetimes.size(); ++b) {
    if (lifetimes[b].first > peak || lifetimes[b].last < peak) continue;
    int64_t& sum = *sums[static_cast<size_t>(buffers.UseOf(b))];
    sum = SaturatingAdd(sum, lifetimes[b].bytes);
  }
  return split;
}

std::vector<uint8_t> PartsOfBuffers(const Plan& plan) {
  if (!HasLayouts(plan)) return {};
  TrainingBuffers buffers(plan);
  std::vector<uint8_t> parts(buffers.size());
  for (size_t b = 0; b < parts.size(); ++b) parts[b] = static_cast<uint8_t>(buffers.UseOf(b));
  return parts;
}

std::vector<int64_t> KeptBytesOnDevice(const Plan& plan) {
  std::vector<int64_t> bytes(plan.graph.tensors.size(), 0);
  if (!HasLayouts(plan)) return bytes;
  TrainingBuffers buffers(plan);
  const std::vector<Lifetime> lifetimes = Lifetimes(plan, buffers.order());
  for (size_t b = 0; b < lifetimes.size(); ++b) {
    if (!buffers.IsKept(b)) continue;
    int64_t& sum = bytes[lifetimes[b].tensor.index()];
    sum = SaturatingAdd(sum, lifetimes[b].bytes);
  }
  return bytes;
}

}  // namespace sbp
