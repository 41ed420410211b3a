#include "pipeline/late_reads.h"

#include <algorithm>
#include <cstdint>
#include <deque>

#include "boxing/boxing.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "plan/transition_runs.h"
#include "rule/factor_map.h"

namespace sbp {
namespace {

constexpr uint32_t kFewestBetween = 4;  // products between one that may wait and who reads it

class LateReads {
 public:
  LateReads(const Problem& problem, const Plan& plan, size_t most)
      : problem_(problem),
        plan_(plan),
        graph_(plan.graph),
        most_(most),
        end_of_op_(graph_.ops.size(), -1),
        end_of_transition_(plan.transitions.size(), -1),
        unit_of_(graph_.ops.size(), kNone),
        reads_(graph_.ops.size()) {
    FindBoxing();
    FindLate();
  }

  std::vector<OpId> Run() {
    const std::vector<StepSection> sections = SectionsOf(graph_);
    for (uint32_t o = 0; o < graph_.ops.size(); ++o) {
      if (o > 0 && sections[o] != sections[o - 1]) EmitUpTo(first_ + units_.size());
      const uint32_t reads = LastUnitOf(o);
      if (late_[o] && (is_product_[o] || reads != kNone)) {
        if (reads == kNone) units_.emplace_back();
        unit_of_[o] = reads == kNone ? static_cast<uint32_t>(first_ + units_.size() - 1) : reads;
        units_[unit_of_[o] - first_].push_back(o);
        if (units_.size() > most_) EmitUpTo(first_ + 1);
        continue;
      }
      if (reads != kNone) EmitUpTo(reads + 1);
      const double ready = ReadyTime(o);
      while (!units_.empty() && now_ < ready) EmitUpTo(first_ + 1);
      Emit(o);
    }
    EmitUpTo(first_ + units_.size());
    return std::move(order_);
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  void FindBoxing() {
    std::vector<std::vector<uint32_t>> copies(graph_.tensors.size());
    before_.resize(plan_.transitions.size(), kNone);
    for (uint32_t t = 0; t < plan_.transitions.size(); ++t) {
      const Transition& transition = plan_.transitions[t];
      for (const uint32_t other : copies[transition.tensor.index()]) {
        if (plan_.transitions[other].to == transition.from) before_[t] = other;
      }
      copies[transition.tensor.index()].push_back(t);
      for (const Use& use : transition.consumers) reads_[use.op.index()].push_back(t);
    }
    const std::vector<int64_t> runs = RunsOfTransitions(plan_, problem_.runs);
    for (size_t t = 0; t < plan_.transitions.size(); ++t) {
      double seconds = 0;
      for (const BoxingStep& step : plan_.transitions[t].steps) seconds += RowOf(step.kind).local ? 0 : step.seconds;
      seconds_of_transition_.push_back(seconds * static_cast<double>(runs[t]));
    }
  }

  void FindLate() {
    const auto count = static_cast<uint32_t>(graph_.ops.size());
    std::vector<uint32_t> products(count + 1, 0);  // before an op
    for (uint32_t o = 0; o < count; ++o) {
      is_product_.push_back(problem_.candidates(OpId(o)).instance->contraction);
      products[o + 1] = products[o] + (is_product_[o] ? 1 : 0);
    }
    late_.resize(count);
    std::vector<uint32_t> read_at(count);
    for (uint32_t o = count; o-- > 0;) {
      read_at[o] = count;
      for (const TensorId output : graph_.ops[o].outputs) {
        if (!output.valid()) continue;
        const auto [begin, end] = problem_.uses.of(output);
        for (const Use* use = begin; use != end; ++use) {
          const auto reader = static_cast<uint32_t>(use->op.index());
          read_at[o] = std::min(read_at[o], late_[reader] ? read_at[reader] : reader);
        }
      }
      late_[o] = products[read_at[o]] >= products[o + 1] + kFewestBetween;
    }
  }

  // The last of the waiting units that the op reads something of.
  uint32_t LastUnitOf(uint32_t o) const {
    uint32_t last = kNone;
    for (const TensorId operand : problem_.operands(OpId(o))) {
      if (!operand.valid()) continue;
      const OpId producer = graph_.tensor(operand).producer;
      if (!producer.valid() || end_of_op_[producer.index()] >= 0) continue;
      const uint32_t unit = unit_of_[producer.index()];
      last = last == kNone ? unit : std::max(last, unit);
    }
    return last;
  }

  // When what the transition makes is there. What has no producer is fetched early.
  double Send(uint32_t t) {
    double& end = end_of_transition_[t];
    if (end >= 0) return end;
    const OpId producer = graph_.tensor(plan_.transitions[t].tensor).producer;
    if (!producer.valid()) return end = 0;
    const double start = before_[t] != kNone ? Send(before_[t]) : end_of_op_[producer.index()];
    if (seconds_of_transition_[t] == 0) return end = start;
    sent_ = std::max(sent_, start) + seconds_of_transition_[t];
    return end = sent_;
  }

  double ReadyTime(uint32_t o) {
    double ready = 0;
    for (const uint32_t t : reads_[o]) ready = std::max(ready, Send(t));
    return ready;
  }

  void Emit(uint32_t o) {
    const double seconds = plan_.decision(OpId(o)).compute_seconds * static_cast<double>(problem_.runs.of(OpId(o)));
    now_ = std::max(now_, ReadyTime(o)) + seconds;
    end_of_op_[o] = now_;
    order_.emplace_back(o);
  }

  // The units before `number`.
  void EmitUpTo(size_t number) {
    for (; first_ < number; ++first_) {
      const std::vector<uint32_t> unit = std::move(units_.front());
      units_.pop_front();
      for (const uint32_t o : unit) Emit(o);
    }
  }

  const Problem& problem_;
  const Plan& plan_;
  const Graph& graph_;
  const size_t most_;
  std::vector<double> end_of_op_, end_of_transition_;  // below 0: not yet run
  std::vector<double> seconds_of_transition_;          // 0: nothing is sent
  std::vector<uint32_t> before_;                       // per transition: that it starts from
  std::vector<bool> is_product_, late_;                // per op
  std::vector<uint32_t> unit_of_;                      // per op that waits or did
  std::vector<std::vector<uint32_t>> reads_;           // per op: transitions
  std::deque<std::vector<uint32_t>> units_;            // that wait, from number first_ on
  size_t first_ = 0;
  double now_ = 0, sent_ = 0;  // until when is computed and sent
  std::vector<OpId> order_;
};

}  // namespace

std::vector<OpId> OrderWithLateReads(const Problem& problem, const Plan& plan, size_t most) {
  return LateReads(problem, plan, most).Run();
}

}  // namespace sbp
