// A plan as a table for programs that execute it op by op on local parts: tensors with their layouts, and the steps in
// their order, ops and transitions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace sbp {

// JSON. "steps" has each transition in front of the op that the plan says it runs before, and those of outputs last.
// "nodes" names the model's nodes that stand in the plan as they are.
// Requires tensors of sizes that are numbers.
std::string PlanTable(const Plan& plan);

// The node of the model that an op of the plan is, or begins with: "layer_norm" of "layer_norm/Sqrt". "": of none, as
// it was made with a training step or stands for several (simplify/). Of models whose ops have their nodes' names.
std::string_view NodeOf(const Plan& plan, const Op& op);

// The value of a flag of `infer --train`, the first of several; "": not given.
std::string_view TrainingFlag(const Plan& plan, std::string_view flag);

// Is the plan's step one pass, as a call of `program` ("the program for JAX") is? Error (kBadInput): it sums gradients
// over micro-batches.
Status CheckOnePass(const Plan& plan, std::string_view program);

}  // namespace sbp
