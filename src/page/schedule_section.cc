// When ops run, on the two streams of a device.
#include <cstddef>
#include <utility>

#include "base/ids.h"
#include "graph/sections.h"
#include "page/options.h"
#include "page/sections.h"
#include "plan/plan.h"
#include "schedule/micro_batches.h"
#include "schedule/play.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

Json MicroBatchColumns(const MicroBatches& played, bool is_physical) {
  if (played.counts.empty()) return nullptr;
  Json part = Json::array(), op = Json::array(), transition = Json::array(), step = Json::array(),
       start = Json::array(), end = Json::array();
  for (const PlayedTask& task : played.tasks) {
    part.push_back(task.part);
    op.push_back(task.op);
    transition.push_back(task.transition);
    step.push_back(task.step);
    start.push_back(task.time.start);
    end.push_back(task.time.end);
  }
  return {{"physical", is_physical}, {"counts", played.counts},   {"seconds", played.seconds},
          {"part", std::move(part)}, {"op", std::move(op)},       {"transition", std::move(transition)},
          {"step", std::move(step)}, {"start", std::move(start)}, {"end", std::move(end)}};
}

Json MicroBatchesOf(const PageFacts& facts) {
  if (facts.options.played != nullptr) return MicroBatchColumns(*facts.options.played, true);
  return MicroBatchColumns(PlayMicroBatches(facts.plan, kMostTasksOfPage), false);
}

}  // namespace

Json ScheduleSection(const PageFacts& facts) {
  Json start = Json::array(), end = Json::array(), times = Json::array();
  for (const TaskTime& time : facts.schedule.ops) {
    start.push_back(time.start);
    end.push_back(time.end);
  }
  const StepRuns runs(facts.plan.graph);
  for (size_t op = 0; op < facts.plan.graph.ops.size(); ++op) times.push_back(runs.of(OpId(op)));
  const ScheduleSummary& summary = facts.schedule.summary;
  return {{"start", std::move(start)},
          {"end", std::move(end)},
          {"runs", std::move(times)},
          {"micro_batches", MicroBatchesOf(facts)},
          {"summary",
           {{"step", summary.step},
            {"compute", summary.compute},
            {"collectives", summary.collectives},
            {"exposed", summary.exposed},
            {"slowed", summary.slowed},
            {"idle", summary.idle}}}};
}

}  // namespace sbp
