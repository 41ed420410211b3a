#include "memory/shrink.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/held.h"
#include "graph/made_anew.h"
#include "memory/memory.h"
#include "plan/ends.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

// The two latest transitions that read a buffer directly, by the op in front of which they run.
struct Latest {
  std::optional<uint32_t> transition;
  uint32_t runs = 0;  // of that
  uint32_t other = 0;
};

class Shrinker {
 public:
  explicit Shrinker(Plan& plan) : plan_(plan), graph_(plan.graph) {}

  bool Run() {
    if (graph_.micro_batches > 1 || graph_.ops.empty() || plan_.transitions.empty()) return false;
    FindBuffers();
    FindReaders();
    bool any = false;
    for (const auto& [buffer, latest] : latest_) any |= MoveUp(buffer, latest);
    return any;
  }

 private:
  // The tensor in whose memory each lies as it was written: its own, but for what ops without a kernel give.
  void FindBuffers() {
    for (const Transition& transition : plan_.transitions) {
      for (const Use& use : transition.consumers) boxed_.insert(UseKey(use.op, use.operand));
    }
    for (size_t t = 0; t < graph_.tensors.size(); ++t) buffer_.emplace_back(t);
    free_from_.assign(graph_.tensors.size(), 0);
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      const Op& op = graph_.ops[o];
      const bool lies_there = plan_.kernels.runs_no_kernel(OpId(o)) && !op.inputs.empty() && op.inputs[0].valid() &&
                              !boxed_.contains(UseKey(OpId(o), 0));
      for (const TensorId result : op.outputs) {
        if (!result.valid()) continue;
        if (lies_there) buffer_[result.index()] = buffer_[op.inputs[0].index()];
        ReadUntil(result, static_cast<uint32_t>(o));
      }
    }
  }

  // The buffer is not free in front of that op, nor before.
  void ReadUntil(TensorId tensor, uint32_t op) {
    uint32_t& from = free_from_[buffer_[tensor.index()].index()];
    from = std::max(from, op + 1);
  }

  void FindReaders() {
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      size_t operand = 0;
      for (const TensorId read : graph_.OperandsOf(graph_.ops[o])) {
        if (read.valid() && !boxed_.contains(UseKey(OpId(o), operand))) ReadUntil(read, static_cast<uint32_t>(o));
        ++operand;
      }
    }
    for (const HeldResult& held : FindHeld(graph_)) ReadUntil(held.tensor, held.until.value);
    const std::vector<OpId> until = MadeAnewUntil(graph_, plan_.kernels);
    for (size_t o = 0; o < until.size(); ++o) {
      if (until[o] == OpId(o)) continue;
      for (const TensorId read : graph_.OperandsOf(graph_.ops[o])) {
        if (read.valid()) ReadUntil(read, until[o].value);
      }
    }
    for (const TensorEnd& end : EndsOf(plan_)) {
      if (end.transition < 0) ReadUntil(end.tensor, static_cast<uint32_t>(graph_.ops.size()));
    }
    const StepOrder order = OrderOfStep(plan_);
    std::unordered_map<TensorId, std::vector<const NdSbp*>> copies;  // layouts, of earlier transitions
    for (uint32_t i = 0; i < plan_.transitions.size(); ++i) {
      const Transition& transition = plan_.transitions[i];
      std::vector<const NdSbp*>& made = copies[transition.tensor];
      const bool of_copy = std::ranges::any_of(made, [&](const NdSbp* layout) { return *layout == transition.from; });
      made.push_back(&transition.to);
      if (of_copy) continue;
      const auto runs =
          static_cast<uint32_t>(std::ranges::lower_bound(order.ops, order.transitions[i]) - order.ops.begin());
      Latest& latest = latest_[buffer_[transition.tensor.index()]];
      if (!latest.transition || runs > latest.runs) {
        latest.other = latest.transition ? latest.runs : 0;
        latest.transition = i;
        latest.runs = runs;
      } else {
        latest.other = std::max(latest.other, runs);
      }
    }
  }

  bool MoveUp(TensorId buffer, const Latest& latest) {
    if (graph_.tensor(buffer).role != TensorRole::kActivation) return false;
    Transition& transition = plan_.transitions[*latest.transition];
    const int64_t whole = LocalBytes(graph_.tensor(buffer).type, plan_.source_layouts[buffer.index()], plan_.mesh);
    const int64_t left = LocalBytes(graph_.tensor(transition.tensor).type, transition.to, plan_.mesh);
    const uint32_t to = std::max(free_from_[buffer.index()], latest.other);
    const bool grows = std::ranges::any_of(transition.steps, [&](const auto& step) {
      return LocalBytes(graph_.tensor(transition.tensor).type, step.to, plan_.mesh) > whole;
    });
    if (left >= whole || grows || to >= latest.runs || to >= graph_.ops.size()) return false;
    transition.ahead_of = OpId(to);
    return true;
  }

  Plan& plan_;
  const Graph& graph_;
  std::unordered_set<uint64_t> boxed_;           // UseKey of what reads a copy
  std::vector<TensorId> buffer_;                 // per tensor
  std::vector<uint32_t> free_from_;              // per buffer: the first op in front of which ops read it no more
  std::unordered_map<TensorId, Latest> latest_;  // per buffer
};

}  // namespace

bool ShrinkEarly(Plan& plan) { return Shrinker(plan).Run(); }

}  // namespace sbp
