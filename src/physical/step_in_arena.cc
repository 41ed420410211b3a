#include "physical/step_in_arena.h"

#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "schedule/schedule.h"

namespace sbp {

double StepInArena(const Plan& plan) {
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  return MakeSchedule(plan, &physical).summary.step;
}

}  // namespace sbp
