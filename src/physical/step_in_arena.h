// What a step takes in its arena.
#pragma once

#include "plan/plan.h"

namespace sbp {

// Seconds of the step in the arena that MakePhysicalPlan makes for one micro-batch, whether or not the plan has it:
// what `run --backend fake` plays. Without its arena a plan's schedule takes memory as free where no task that stands
// before uses it.
double StepInArena(const Plan& plan);

}  // namespace sbp
