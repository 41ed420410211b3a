#include "schedule/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "memory/memory.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/pins.h"
#include "plan/transition_runs.h"
#include "schedule/memory_edges.h"

namespace sbp {
namespace {

constexpr uint32_t kNoTask = std::numeric_limits<uint32_t>::max();

// Task p is what runs at position p of the step; one more stands for the filling of inputs.
class ScheduleBuilder {
 public:
  // `physical`: nullptr where there is none.
  ScheduleBuilder(const Plan& plan, const PhysicalPlan* physical)
      : plan_(plan), graph_(plan.graph), physical_(physical), order_(OrderOfStep(plan)) {
    inputs_ = static_cast<uint32_t>(order_.op_at.size());
    tasks_.resize(static_cast<size_t>(inputs_) + 1);
  }

  Schedule Run() {
    SetSeconds();
    FindSources();
    plays_physical_ = physical_ != nullptr && physical_->micro_batches == 1 && physical_->tasks.size() == inputs_;
    for (const uint32_t number : order_.in_order) AddTransition(number);
    AddOps();
    if (plays_physical_) {
      const std::vector<TaskEdge> more = MemoryEdges(*physical_);
      edges_.insert(edges_.end(), more.begin(), more.end());
    }
    times_ = PlayTasks(tasks_, edges_, plan_.cluster.device.overlap.value);
    Schedule schedule;
    for (const uint32_t position : order_.ops) schedule.ops.push_back(times_[position]);
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      const auto first = times_.begin() + order_.transitions[i];
      schedule.transitions.emplace_back(first, first + static_cast<std::ptrdiff_t>(plan_.transitions[i].steps.size()));
    }
    Summarise(schedule);
    return schedule;
  }

 private:
  void SetSeconds() {
    const StepRuns runs(graph_);
    const std::vector<int64_t> made = RunsOfTransitions(plan_, runs);
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      tasks_[order_.ops[o]].seconds = static_cast<double>(runs.of(OpId(o))) * plan_.decision(OpId(o)).compute_seconds;
    }
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      const Transition& transition = plan_.transitions[i];
      const auto times = static_cast<double>(made[i]);
      for (size_t s = 0; s < transition.steps.size(); ++s) {
        TimedTask& task = tasks_[order_.transitions[i] + s];
        task.seconds = times * transition.steps[s].seconds;
        task.communication = task.slows = !RowOf(transition.steps[s].kind).local;
      }
      // Where a kernel group is cut, the kernel that reads then is the first one behind the cut.
      const OpId behind =
          transition.consumers.empty() ? graph_.tensor(transition.tensor).producer : transition.consumers.front().op;
      if (behind.valid()) tasks_[order_.ops[behind.index()]].seconds += times * transition.cut_seconds;
    }
  }

  // The task that leaves each tensor as it is written; none for parameters that are only read.
  void FindSources() {
    for (const Tensor& tensor : graph_.tensors) {
      const bool given = tensor.role == TensorRole::kInput;
      sources_.push_back(tensor.producer.valid() ? order_.ops[tensor.producer.index()] : given ? inputs_ : kNoTask);
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
    if (before == kNoTask && !plays_physical_) before = OpBefore(order_.transitions[number]);
    for (size_t s = 0; s < transition.steps.size(); ++s) {
      const auto task = static_cast<uint32_t>(order_.transitions[number] + s);
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

  void AddOps() {
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      uint32_t operand = 0;
      for (const std::vector<TensorId>* list : {&graph_.ops[o].inputs, &graph_.ops[o].captures}) {
        for (const TensorId id : *list) {
          if (id.valid()) {
            const auto boxed = boxed_.find(UseKey(OpId(o), operand));
            Follow(boxed == boxed_.end() ? sources_[id.index()] : boxed->second, order_.ops[o]);
          }
          ++operand;
        }
      }
    }
  }

  void Follow(uint32_t before, uint32_t task) {
    if (before != kNoTask) edges_.emplace_back(before, task);
  }

  void Summarise(Schedule& schedule) const {
    ScheduleSummary& sum = schedule.summary;
    std::vector<TaskTime> computing;  // disjoint, ascending
    for (size_t t = 0; t < tasks_.size(); ++t) {
      sum.step = std::max(sum.step, times_[t].end);
      (tasks_[t].communication ? sum.collectives : sum.compute) += tasks_[t].seconds;
      if (!tasks_[t].communication && times_[t].end > times_[t].start) computing.push_back(times_[t]);
    }
    std::ranges::sort(computing, {}, &TaskTime::start);
    double busy = 0;
    for (const TaskTime& time : computing) busy += time.end - time.start;
    schedule.exposed.resize(plan_.transitions.size());
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      for (size_t s = 0; s < plan_.transitions[i].steps.size(); ++s) {
        if (!tasks_[order_.transitions[i] + s].communication) continue;
        schedule.exposed[i] += Uncovered(computing, schedule.transitions[i][s]);
      }
      sum.exposed += schedule.exposed[i];
    }
    // What remains of a difference of sums is nothing.
    const auto rest = [&](double seconds) { return seconds > 1e-9 * sum.step ? seconds : 0; };
    sum.slowed = rest(busy - sum.compute);
    sum.idle = rest(sum.step - busy - sum.exposed);
  }

  // Seconds of `time` in which nothing is computed.
  static double Uncovered(const std::vector<TaskTime>& computing, const TaskTime& time) {
    double seconds = time.end - time.start;
    auto at = std::ranges::upper_bound(computing, time.start, {}, &TaskTime::end);
    for (; at != computing.end() && at->start < time.end; ++at) {
      seconds -= std::min(at->end, time.end) - std::max(at->start, time.start);
    }
    return std::max(0.0, seconds);
  }

  const Plan& plan_;
  const Graph& graph_;
  const PhysicalPlan* const physical_;
  const StepOrder order_;
  uint32_t inputs_ = 0;
  bool plays_physical_ = false;  // memory is that of the arena
  std::vector<TimedTask> tasks_;
  std::vector<TaskEdge> edges_;
  std::vector<TaskTime> times_;
  std::vector<uint32_t> sources_;                               // per tensor
  std::unordered_map<TensorId, std::vector<uint32_t>> copies_;  // per tensor: its transitions so far
  std::unordered_map<uint32_t, uint32_t> last_;                 // per transition: the task that makes what it leads to
  std::unordered_map<uint64_t, uint32_t> boxed_;                // UseKey -> the task that makes the operand
};

}  // namespace

Schedule MakeSchedule(const Plan& plan) {
  return ScheduleBuilder(plan, plan.physical ? &*plan.physical : nullptr).Run();
}

double StepInArena(const Plan& plan) {
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  return ScheduleBuilder(plan, &physical).Run().summary.step;
}

}  // namespace sbp
