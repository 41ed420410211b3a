// Boxing: what moves data between layouts, when, and for whom.
#include <cstdint>
#include <utility>
#include <vector>

#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "page/interned.h"
#include "page/layout_table.h"
#include "page/sections.h"
#include "plan/plan.h"
#include "plan/transition_runs.h"
#include "schedule/play.h"

namespace sbp {
namespace {

Json Kinds() {
  Json kinds = Json::array();
  for (const CollectiveRow& row : AllCollectives()) {
    kinds.push_back({{"name", CollectiveKindName(row.kind)},
                     {"color", row.colours.line},
                     {"fill", row.colours.fill},
                     {"text", row.colours.text},
                     {"is_local", row.local}});
  }
  return kinds;
}

Json Steps(const Transition& transition, const std::vector<TaskTime>& times) {
  Json steps = Json::array();
  for (size_t i = 0; i < transition.steps.size(); ++i) {
    const BoxingStep& step = transition.steps[i];
    const TaskTime time = i < times.size() ? times[i] : TaskTime{};
    steps.push_back({static_cast<int>(step.kind), step.axis, step.seconds, step.wire_bytes, time.start, time.end});
  }
  return steps;
}

}  // namespace

Json TransitionsSection(const PageFacts& facts) {
  const Plan& plan = facts.plan;
  LayoutTable layouts = LayoutsOfPlan(plan);
  Interned reasons;
  const std::vector<int64_t> runs = RunsOfTransitions(plan, StepRuns(plan.graph));
  Json tensor = Json::array(), from = Json::array(), to = Json::array(), steps = Json::array(),
       consumers = Json::array(), seconds = Json::array(), wire_bytes = Json::array(), exposed = Json::array(),
       cut = Json::array(), reason = Json::array(), times = Json::array();
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    tensor.push_back(transition.tensor.index());
    from.push_back(layouts.Find(transition.from));
    to.push_back(layouts.Find(transition.to));
    steps.push_back(Steps(transition, facts.schedule.transitions[i]));
    Json readers = Json::array();
    for (const Use& use : transition.consumers) readers.push_back({use.op.index(), use.operand});
    consumers.push_back(std::move(readers));
    seconds.push_back(transition.seconds);
    wire_bytes.push_back(transition.wire_bytes);
    cut.push_back(transition.cut_seconds);
    exposed.push_back(facts.schedule.exposed[i]);
    reason.push_back(reasons.Find(transition.reason));
    times.push_back(runs[i]);
  }
  return {{"tensor", std::move(tensor)},
          {"from", std::move(from)},
          {"to", std::move(to)},
          {"steps", std::move(steps)},
          {"consumers", std::move(consumers)},
          {"seconds", std::move(seconds)},
          {"wire_bytes", std::move(wire_bytes)},
          {"cut", std::move(cut)},
          {"exposed", std::move(exposed)},
          {"reason", std::move(reason)},
          {"runs", std::move(times)},
          {"kinds", Kinds()},
          {"reasons", reasons.all()}};
}

}  // namespace sbp
