// A plan as a table for programs that execute it op by op on local parts: tensors with their layouts, and the steps in
// their order, ops and transitions.
#pragma once

#include <string>

#include "plan/plan.h"

namespace sbp {

// JSON. "steps" has each transition in front of the op that the plan says it runs before, and those of outputs last.
// "nodes" names the model's nodes that stand in the plan as they are.
// Requires tensors of sizes that are numbers.
std::string PlanTable(const Plan& plan);

}  // namespace sbp
