#include "api/played.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "plan/physical_plan.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"
#include "sbp/mesh.h"

namespace sbp {

Result<std::optional<MicroBatches>> PlayPhysical(const Plan& plan, size_t most) {
  if (!plan.physical || plan.graph.micro_batches > 1) return std::optional<MicroBatches>();
  const PhysicalPlan& physical = *plan.physical;
  const size_t number = physical.micro_batches;
  if (number < 2 || physical.tasks.size() > most / number) return std::optional<MicroBatches>();
  SBP_ASSIGN_OR_RETURN(const ActorGraph actors, MakeActorGraph(plan, physical));
  Mesh device = plan.mesh;  // one for all: none comes later than others to where they meet
  for (MeshAxis& axis : device.axes) axis.size = 1;
  device.ranks.clear();
  SBP_ASSIGN_OR_RETURN(const Timeline timeline, Simulate(actors, device));
  MicroBatches played;
  played.counts.assign(number, 1);
  for (const Span& span : timeline.spans) {
    if (span.firing.actor >= actors.num_tasks() || span.end <= span.start) continue;
    const Task& task = physical.tasks[span.firing.actor];
    played.tasks.push_back({.op = task.op.valid() ? int64_t{task.op.value} : -1,
                            .transition = task.transition,
                            .step = task.step,
                            .part = span.firing.micro_batch,
                            .time = {span.start, span.end}});
    played.seconds = std::max(played.seconds, span.end);
  }
  return std::optional<MicroBatches>(std::move(played));
}

}  // namespace sbp
