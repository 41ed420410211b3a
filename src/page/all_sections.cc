// The table of sections, in the order in which they stand in the document.
#include <span>

#include "memory/memory.h"
#include "page/options.h"
#include "page/sections.h"
#include "page/step_phases.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/outline.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

constexpr SectionRow kSections[] = {
    {"head", HeadSection, true},         {"graph", GraphSection, true},   {"outline", OutlineSection, true},
    {"layout", LayoutSection, true},     {"decisions", DecisionsSection}, {"tensors", TensorsSection},
    {"transitions", TransitionsSection}, {"schedule", ScheduleSection},   {"memory", MemorySection},
    {"traffic", TrafficSection},         {"trace", TraceSection},         {"explain", ExplainSection},
    {"removals", RemovalsSection},
};

}  // namespace

std::span<const SectionRow> AllSections() { return kSections; }

PageFacts FindPageFacts(const Plan& plan, const PageOptions& options) {
  PageFacts facts{.plan = plan, .options = options, .bare = IsBareGraph(plan)};
  facts.phases = PhasesOfStep(plan.graph);
  if (AreTraced(plan.graph, facts.phases)) {
    Plan scoped = plan;
    SetPhaseScopes(facts.phases, scoped.graph);
    facts.outline = BuildOutline(scoped, {});
  } else {
    facts.outline = BuildOutline(plan, {});
  }
  if (facts.bare) return facts;
  facts.order = OrderOfStep(plan);
  facts.schedule = MakeSchedule(plan);
  facts.lifetimes = Lifetimes(plan, facts.order);
  return facts;
}

}  // namespace sbp
