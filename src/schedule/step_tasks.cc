#include "schedule/step_tasks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/passes.h"
#include "graph/phases.h"
#include "graph/sections.h"
#include "memory/memory.h"
#include "plan/physical_plan.h"
#include "plan/pins.h"
#include "plan/transition_runs.h"
#include "schedule/memory_edges.h"

namespace sbp {
namespace {

constexpr uint32_t kNoTask = std::numeric_limits<uint32_t>::max();

class StepTasksBuilder {
 public:
  StepTasksBuilder(const Plan& plan, const PhysicalPlan* physical)
      : plan_(plan), graph_(plan.graph), physical_(physical), order_(OrderOfStep(plan)), passes_(plan.graph) {
    inputs_ = static_cast<uint32_t>(order_.op_at.size());
    step_.tasks.resize(static_cast<size_t>(inputs_) + 1);
  }

  StepTasks Run() {
    if (physical_ != nullptr) {
      NumberAsTasks();
    } else {
      NumberByPosition();
    }
    SetSeconds();
    FindSources();
    for (const uint32_t number : order_.in_order) AddTransition(number);
    AddOps();
    if (physical_ != nullptr) {
      const std::vector<TaskEdge> more = MemoryEdges(*physical_);
      step_.edges.insert(step_.edges.end(), more.begin(), more.end());
    }
    return std::move(step_);
  }

 private:
  void NumberByPosition() {
    step_.ops = order_.ops;
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      std::vector<uint32_t>& steps = step_.transitions.emplace_back(plan_.transitions[i].steps.size());
      std::iota(steps.begin(), steps.end(), order_.transitions[i]);
    }
  }

  void NumberAsTasks() {
    step_.ops.resize(graph_.ops.size());
    for (const Transition& transition : plan_.transitions) step_.transitions.emplace_back(transition.steps.size());
    for (uint32_t t = 0; t < physical_->tasks.size(); ++t) {
      const Task& task = physical_->tasks[t];
      (task.op.valid() ? step_.ops[task.op.index()] : step_.transitions[task.transition][task.step]) = t;
    }
  }

  void SetSeconds() {
    const StepRuns runs(graph_);
    const std::vector<int64_t> made = RunsOfTransitions(plan_, runs);
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      step_.tasks[step_.ops[o]].seconds =
          static_cast<double>(runs.of(OpId(o))) * plan_.decision(OpId(o)).compute_seconds;
    }
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      const Transition& transition = plan_.transitions[i];
      const auto times = static_cast<double>(made[i]);
      for (size_t s = 0; s < transition.steps.size(); ++s) {
        TimedTask& task = step_.tasks[step_.transitions[i][s]];
        task.seconds = times * transition.steps[s].seconds;
        task.communication = task.slows = !RowOf(transition.steps[s].kind).local;
      }
      // Where a kernel group is cut, the kernel that reads then is the first one behind the cut.
      const OpId behind =
          transition.consumers.empty() ? graph_.tensor(transition.tensor).producer : transition.consumers.front().op;
      if (behind.valid()) step_.tasks[step_.ops[behind.index()]].seconds += times * transition.cut_seconds;
    }
  }

  // The task that leaves each tensor as it is written; none for parameters that are only read.
  void FindSources() {
    for (const Tensor& tensor : graph_.tensors) {
      const bool given = tensor.role == TensorRole::kInput;
      sources_.push_back(tensor.producer.valid() ? step_.ops[tensor.producer.index()] : given ? inputs_ : kNoTask);
    }
    std::unordered_set<uint64_t> boxed;
    for (const Transition& transition : plan_.transitions) {
      for (const Use& use : transition.consumers) boxed.insert(UseKey(use.op, use.operand));
    }
    for (const InPlaceWrite& write : plan_.in_place) {
      if (boxed.contains(UseKey(write.op, write.operand))) continue;  // a copy is written over
      const TensorId read = graph_.OperandsOf(graph_.op(write.op))[write.operand];
      if (graph_.tensor(read).role == TensorRole::kParameter) sources_[read.index()] = inputs_;
    }
  }

  void AddTransition(uint32_t number) {
    const Transition& transition = plan_.transitions[number];
    uint32_t before = sources_[transition.tensor.index()];
    auto& copies = copies_[transition.tensor];
    for (const uint32_t other : copies) {
      if (plan_.transitions[other].to == transition.from) before = last_[other];
    }
    const bool fetched = before == kNoTask;
    if (physical_ == nullptr && (fetched || OpensBackward(transition)) && !step_.transitions[number].empty()) {
      Follow(OpBefore(order_.transitions[number]), step_.transitions[number].front());
    }
    for (const uint32_t task : step_.transitions[number]) {
      Follow(before, task);
      before = task;
    }
    last_[number] = before;
    copies.push_back(number);
    for (const Use& use : transition.consumers) boxed_[UseKey(use.op, use.operand)] = before;
  }

  // The last op that stands before a position.
  uint32_t OpBefore(uint32_t position) const {
    const auto next = std::ranges::lower_bound(order_.ops, position);
    return next == order_.ops.begin() ? kNoTask : *(next - 1);
  }

  bool OpensBackward(const Transition& transition) const {
    return passes_.of(transition.tensor) == Pass::kForward && !transition.consumers.empty() &&
           std::ranges::all_of(transition.consumers,
                               [&](const Use& use) { return PhaseOf(graph_, graph_.op(use.op)) == Phase::kBackward; });
  }

  void AddOps() {
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (physical_ == nullptr && passes_.OpensBackward(graph_.ops[o])) Follow(OpBefore(step_.ops[o]), step_.ops[o]);
      uint32_t operand = 0;
      for (const std::vector<TensorId>* list : {&graph_.ops[o].inputs, &graph_.ops[o].captures}) {
        for (const TensorId id : *list) {
          if (id.valid()) {
            const auto boxed = boxed_.find(UseKey(OpId(o), operand));
            Follow(boxed == boxed_.end() ? sources_[id.index()] : boxed->second, step_.ops[o]);
          }
          ++operand;
        }
      }
    }
  }

  void Follow(uint32_t before, uint32_t task) {
    if (before != kNoTask) step_.edges.emplace_back(before, task);
  }

  const Plan& plan_;
  const Graph& graph_;
  const PhysicalPlan* const physical_;
  const StepOrder order_;
  const DataPasses passes_;
  uint32_t inputs_ = 0;
  StepTasks step_;
  std::vector<uint32_t> sources_;                               // per tensor
  std::unordered_map<TensorId, std::vector<uint32_t>> copies_;  // per tensor: its transitions so far
  std::unordered_map<uint32_t, uint32_t> last_;                 // per transition: the task that makes what it leads to
  std::unordered_map<uint64_t, uint32_t> boxed_;                // UseKey -> the task that makes the operand
};

}  // namespace

StepTasks TasksOfStep(const Plan& plan, const PhysicalPlan* physical) { return StepTasksBuilder(plan, physical).Run(); }

}  // namespace sbp
