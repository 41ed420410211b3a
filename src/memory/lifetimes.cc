#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/checked_math.h"
#include "memory/memory.h"
#include "plan/pins.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

class LifetimeBuilder {
 public:
  explicit LifetimeBuilder(const Plan& plan) : plan_(plan), graph_(plan.graph) {
    last_position_ = graph_.ops.empty() ? 0 : static_cast<uint32_t>(graph_.ops.size() - 1);
  }

  std::vector<Lifetime> Run() {
    AddTensors();
    FindReaders();
    for (size_t i = 0; i < plan_.transitions.size(); ++i) AddTransition(static_cast<int32_t>(i));
    ReadInOwnLayout();
    for (TensorId output : graph_.outputs) KeepToTheEnd(output);
    for (const Tie& tie : graph_.ties) KeepToTheEnd(tie.output);
    result_.insert(result_.end(), intermediates_.begin(), intermediates_.end());
    return std::move(result_);
  }

 private:
  // One lifetime a tensor, so that tensor t's own one is result_[t].
  void AddTensors() {
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor& tensor = graph_.tensors[i];
      Lifetime lifetime;
      lifetime.tensor = TensorId(i);
      lifetime.bytes = LocalBytes(tensor.type, plan_.source_layouts[i], plan_.mesh);
      if (tensor.role == TensorRole::kActivation) {
        lifetime.first = lifetime.last = tensor.producer.valid() ? tensor.producer.value : 0;
      } else {
        lifetime.last = last_position_;
        lifetime.kind = tensor.role == TensorRole::kParameter ? "parameter" : "input";
      }
      result_.push_back(lifetime);
    }
  }

  // The first and last position at which each transition's copy is read. One that no op reads is read when the first
  // transition that starts from it runs, or, without any, at the end of the step: an output or a tied parameter. Later
  // transitions come first, so that chains are followed to their end.
  void FindReaders() {
    constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
    readers_.assign(plan_.transitions.size(), {kNever, 0});
    std::unordered_map<TensorId, std::vector<size_t>> later;  // transitions of a tensor
    for (size_t i = plan_.transitions.size(); i-- > 0;) {
      const Transition& transition = plan_.transitions[i];
      auto& range = readers_[i];
      const auto read_at = [&range](uint32_t position) {
        range.first = std::min(range.first, position);
        range.second = std::max(range.second, position);
      };
      for (const Use& use : transition.consumers) {
        read_at(use.op.value);
        boxed_uses_.insert(UseKey(use.op, use.operand));
      }
      std::vector<size_t>& others = later[transition.tensor];
      for (size_t other : others) {
        if (plan_.transitions[other].from == transition.to) read_at(readers_[other].first);
      }
      if (range.first == kNever) read_at(last_position_);
      others.push_back(i);
    }
  }

  void AddTransition(int32_t number) {
    const Transition& transition = plan_.transitions[number];
    Lifetime copy;
    copy.tensor = transition.tensor;
    copy.transition = number;
    copy.kind = "boxing";
    copy.bytes = BytesIn(transition, transition.to);
    copy.first = readers_[number].first;
    copy.last = readers_[number].second;
    std::vector<uint32_t>& copies = copies_[transition.tensor];
    Extend(SourceOf(transition, copies), copy.first);
    AddIntermediates(transition, copy);
    copies.push_back(static_cast<uint32_t>(result_.size()));
    result_.push_back(copy);
  }

  // While step k runs, what step k - 1 wrote and what step k writes exist. The last one writes the copy itself, which
  // is counted already; only what the steps before need above that is extra.
  void AddIntermediates(const Transition& transition, const Lifetime& copy) {
    int64_t before = 0, most = 0;
    for (const BoxingStep& step : transition.steps) {
      const int64_t written = BytesIn(transition, step.to);
      most = std::max(most, SaturatingAdd(before, written));
      before = written;
    }
    if (most <= copy.bytes) return;
    Lifetime extra = copy;
    extra.bytes = most - copy.bytes;
    extra.last = extra.first;
    intermediates_.push_back(extra);
  }

  // The lifetime that a transition reads: an earlier copy in that layout, else the tensor as it was written.
  uint32_t SourceOf(const Transition& transition, const std::vector<uint32_t>& copies) const {
    for (uint32_t index : copies) {
      if (plan_.transitions[result_[index].transition].to == transition.from) return index;
    }
    return transition.tensor.value;
  }

  void Extend(uint32_t index, uint32_t position) {
    Lifetime& lifetime = result_[index];
    lifetime.last = std::max(lifetime.last, position);
  }

  void ReadInOwnLayout() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      uint32_t operand = 0;
      for (const std::vector<TensorId>* list : {&graph_.ops[i].inputs, &graph_.ops[i].captures}) {
        for (TensorId id : *list) {
          if (id.valid() && (boxed_uses_.empty() || !boxed_uses_.contains(UseKey(OpId(i), operand)))) {
            result_[id.index()].last = std::max(result_[id.index()].last, static_cast<uint32_t>(i));
          }
          ++operand;
        }
      }
    }
  }

  void KeepToTheEnd(TensorId id) { result_[id.index()].last = last_position_; }

  int64_t BytesIn(const Transition& transition, const NdSbp& layout) const {
    return LocalBytes(graph_.tensor(transition.tensor).type, layout, plan_.mesh);
  }

  const Plan& plan_;
  const Graph& graph_;
  uint32_t last_position_ = 0;
  std::vector<Lifetime> result_;
  std::vector<Lifetime> intermediates_;
  std::unordered_map<TensorId, std::vector<uint32_t>> copies_;  // per tensor: its boxed copies
  std::unordered_set<uint64_t> boxed_uses_;
  std::vector<std::pair<uint32_t, uint32_t>> readers_;  // per transition: first and last position
};

}  // namespace

int64_t LocalBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh) {
  if (!type.is_static()) return 0;
  int64_t elements = 1;
  for (int64_t size : LocalShape(type.shape, sbp, mesh)) elements = SaturatingMul(elements, size);
  return BytesOf(type.dtype, elements);
}

std::vector<Lifetime> Lifetimes(const Plan& plan) { return LifetimeBuilder(plan).Run(); }

}  // namespace sbp
