// When ops run, on the two streams of a device.
#include <utility>

#include "base/ids.h"
#include "graph/sections.h"
#include "page/sections.h"
#include "schedule/play.h"
#include "schedule/schedule.h"

namespace sbp {

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
          {"summary",
           {{"step", summary.step},
            {"compute", summary.compute},
            {"collectives", summary.collectives},
            {"exposed", summary.exposed},
            {"slowed", summary.slowed},
            {"idle", summary.idle}}}};
}

}  // namespace sbp
