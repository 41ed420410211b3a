#include "schedule/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/physical_plan.h"
#include "schedule/step_tasks.h"

namespace sbp {
namespace {

// Seconds of `time` in which nothing is computed.
double Uncovered(const std::vector<TaskTime>& computing, const TaskTime& time) {
  double seconds = time.end - time.start;
  auto at = std::ranges::upper_bound(computing, time.start, {}, &TaskTime::end);
  for (; at != computing.end() && at->start < time.end; ++at) {
    seconds -= std::min(at->end, time.end) - std::max(at->start, time.start);
  }
  return std::max(0.0, seconds);
}

void Summarise(const Plan& plan, const StepTasks& step, const std::vector<TaskTime>& times, Schedule& schedule) {
  ScheduleSummary& sum = schedule.summary;
  std::vector<TaskTime> computing;  // disjoint, ascending
  for (size_t t = 0; t < step.tasks.size(); ++t) {
    sum.step = std::max(sum.step, times[t].end);
    (step.tasks[t].communication ? sum.collectives : sum.compute) += step.tasks[t].seconds;
    if (!step.tasks[t].communication && times[t].end > times[t].start) computing.push_back(times[t]);
  }
  std::ranges::sort(computing, {}, &TaskTime::start);
  double busy = 0;
  for (const TaskTime& time : computing) busy += time.end - time.start;
  schedule.exposed.resize(plan.transitions.size());
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    for (size_t s = 0; s < plan.transitions[i].steps.size(); ++s) {
      if (!step.tasks[step.transitions[i][s]].communication) continue;
      schedule.exposed[i] += Uncovered(computing, schedule.transitions[i][s]);
    }
    sum.exposed += schedule.exposed[i];
  }
  // What remains of a difference of sums is nothing.
  const auto rest = [&](double seconds) { return seconds > 1e-9 * sum.step ? seconds : 0; };
  sum.slowed = rest(busy - sum.compute);
  sum.idle = rest(sum.step - busy - sum.exposed);
}

// Memory is that of the arena.
bool PlaysArena(const Plan& plan, const PhysicalPlan* physical) {
  if (physical == nullptr || physical->micro_batches != 1) return false;
  size_t tasks = plan.graph.ops.size();
  for (const Transition& transition : plan.transitions) tasks += transition.steps.size();
  return physical->tasks.size() == tasks;
}

}  // namespace

Schedule MakeSchedule(const Plan& plan) { return MakeSchedule(plan, plan.physical ? &*plan.physical : nullptr); }

Schedule MakeSchedule(const Plan& plan, const PhysicalPlan* physical) {
  const StepTasks step = TasksOfStep(plan, PlaysArena(plan, physical) ? physical : nullptr);
  const std::vector<TaskTime> times = PlayTasks(step.tasks, step.edges, plan.cluster.device.overlap.value);
  Schedule schedule;
  for (const uint32_t task : step.ops) schedule.ops.push_back(times[task]);
  for (const std::vector<uint32_t>& tasks : step.transitions) {
    std::vector<TaskTime>& steps = schedule.transitions.emplace_back();
    for (const uint32_t task : tasks) steps.push_back(times[task]);
  }
  Summarise(plan, step, times, schedule);
  return schedule;
}

}  // namespace sbp
