// How often a step makes each transition of a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/sections.h"
#include "plan/plan.h"

namespace sbp {

// Per transition: as often as the most frequent of those who read what it makes, ops, transitions that start there,
// and the end of the tensor (StepRuns::end) where it makes that. `runs`: of plan.graph. A step whose graph has one
// micro-batch makes each once.
std::vector<int64_t> RunsOfTransitions(const Plan& plan, const StepRuns& runs);

// Per transition: does an op that runs in each micro-batch read what it makes, or a transition that starts there and
// does so? The others are behind all micro-batches, even if each makes them (for what is carried to the next one).
std::vector<bool> ServesMicro(const Plan& plan, const StepRuns& runs);

}  // namespace sbp
