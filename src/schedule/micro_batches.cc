#include "schedule/micro_batches.h"

#include <algorithm>
#include <numeric>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "plan/transition_runs.h"
#include "schedule/step_tasks.h"

namespace sbp {
namespace {

// One each; where there are more than `parts`, the one before the last stands for the rest.
std::vector<int64_t> CountsOfParts(int64_t micro_batches, size_t parts) {
  std::vector<int64_t> counts(std::min(parts, static_cast<size_t>(micro_batches)), 1);
  counts[counts.size() - (counts.size() > 1 ? 2 : 1)] += micro_batches - static_cast<int64_t>(counts.size());
  return counts;
}

class Unrolled {
 public:
  Unrolled(const Plan& plan, std::vector<int64_t> counts)
      : plan_(plan), step_(TasksOfStep(plan)), copies_(step_.tasks.size()), repeats_(step_.tasks.size(), false) {
    result_.counts = std::move(counts);
    FindRepeats();
    FindNeeded();
  }

  MicroBatches Run() {
    for (uint32_t part = 0; part < result_.counts.size(); ++part) AddPart(part);
    AddEdges();
    const std::vector<TaskTime> times = PlayTasks(tasks_, edges_, plan_.cluster.device.overlap.value);
    for (size_t i = 0; i < tasks_.size(); ++i) {
      result_.seconds = std::max(result_.seconds, times[i].end);
      PlayedTask task = made_[i];
      task.time = times[i];
      if (tasks_[i].seconds > 0) result_.tasks.push_back(task);
    }
    return std::move(result_);
  }

 private:
  void FindRepeats() {
    const StepRuns runs(plan_.graph);
    const std::vector<int64_t> made = RunsOfTransitions(plan_, runs);
    names_.resize(step_.tasks.size());
    for (uint32_t op = 0; op < step_.ops.size(); ++op) {
      repeats_[step_.ops[op]] = runs.of(OpId(op)) > 1;
      names_[step_.ops[op]].op = op;
    }
    for (size_t t = 0; t < step_.transitions.size(); ++t) {
      for (size_t s = 0; s < step_.transitions[t].size(); ++s) {
        const uint32_t task = step_.transitions[t][s];
        repeats_[task] = made[t] > 1;
        names_[task].transition = static_cast<int64_t>(t);
        names_[task].step = static_cast<int64_t>(s);
      }
    }
  }

  // What runs once, and a micro-batch needs: all that leads to it.
  void FindNeeded() {
    std::vector<std::vector<uint32_t>> before(step_.tasks.size());
    for (const auto& [first, then] : step_.edges) before[then].push_back(first);
    needed_.assign(step_.tasks.size(), false);
    std::vector<uint32_t> open;
    for (uint32_t task = 0; task < step_.tasks.size(); ++task) {
      if (repeats_[task]) open.push_back(task);
    }
    while (!open.empty()) {
      const uint32_t task = open.back();
      open.pop_back();
      for (const uint32_t first : before[task]) {
        if (repeats_[first] || needed_[first]) continue;
        needed_[first] = true;
        open.push_back(first);
      }
    }
  }

  // Before the first part, in each, behind the last one.
  int PlaceOf(uint32_t task) const { return repeats_[task] ? 1 : needed_[task] ? 0 : 2; }

  // The last number is that of the inputs, which take no time.
  void AddPart(uint32_t part) {
    const auto share = static_cast<double>(result_.counts[part]) /
                       static_cast<double>(std::accumulate(result_.counts.begin(), result_.counts.end(), int64_t{0}));
    const bool is_last = part + 1 == result_.counts.size();
    std::vector<uint32_t> order(step_.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](uint32_t task) { return PlaceOf(task); });
    for (const uint32_t task : order) {
      if (!repeats_[task] && (needed_[task] ? part > 0 : !is_last)) continue;
      copies_[task].push_back(static_cast<uint32_t>(tasks_.size()));
      TimedTask copy = step_.tasks[task];
      if (repeats_[task]) copy.seconds *= share;
      tasks_.push_back(copy);
      made_.push_back(names_[task]);
      made_.back().part = part;
    }
    PlayedTask end;
    end.part = part;
    ends_.push_back(static_cast<uint32_t>(tasks_.size()));
    tasks_.push_back({});
    made_.push_back(end);
  }

  void AddEdges() {
    std::vector<bool> waits(tasks_.size(), false);
    for (const auto& [first, then] : step_.edges) {
      if (PlaceOf(first) > PlaceOf(then)) continue;  // for the next step
      const std::vector<uint32_t>&a = copies_[first], &b = copies_[then];
      for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
        const uint32_t from = a[std::min(i, a.size() - 1)], to = b[std::min(i, b.size() - 1)];
        edges_.emplace_back(from, to);
        if (repeats_[first]) waits[to] = true;
      }
    }
    for (uint32_t i = 0; i < tasks_.size(); ++i) {
      const uint32_t part = made_[i].part;
      if (i == ends_[part]) continue;
      if (part > 0 && !waits[i]) edges_.emplace_back(ends_[part - 1], i);
      if (!tasks_[i].communication && made_[i].op >= 0) edges_.emplace_back(i, ends_[part]);
    }
  }

  const Plan& plan_;
  const StepTasks step_;
  std::vector<std::vector<uint32_t>> copies_;  // per task of the step: its tasks here, one a part or one
  std::vector<bool> repeats_;                  // per task of the step: in each micro-batch
  std::vector<bool> needed_;                   // runs once, and a micro-batch waits for it
  std::vector<PlayedTask> names_;              // per task of the step
  std::vector<TimedTask> tasks_;
  std::vector<TaskEdge> edges_;
  std::vector<PlayedTask> made_;  // per task here
  std::vector<uint32_t> ends_;    // per part: the task, of no time, that waits for all of its compute
  MicroBatches result_;
};

}  // namespace

MicroBatches PlayMicroBatches(const Plan& plan, size_t most) {
  size_t tasks = plan.graph.ops.size() + 1;
  for (const Transition& transition : plan.transitions) tasks += transition.steps.size();
  const size_t parts = most / tasks;
  if (plan.graph.micro_batches < 2 || parts < 3) return {};
  return Unrolled(plan, CountsOfParts(plan.graph.micro_batches, parts)).Run();
}

}  // namespace sbp
