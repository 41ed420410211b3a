// The independent checker: re-derives legality, shapes, boxing, totals and peak from the plan file alone. Knows no
// strategy.
#pragma once

#include <vector>

#include "base/status.h"
#include "check/violation.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

// Every violation, in the plan's order. `rules` must hold the plan's own rule files already. Does not use problem/,
// strategy/ or the evaluator: each fact is derived in its own way.
std::vector<Violation> CheckPlan(const Plan& plan, const RuleSet& rules);
// Does the plan's graph equal `model` (resolved with the same bindings)? Names, types, attributes, connections.
std::vector<Violation> CompareGraphs(const Graph& plan_graph, const Graph& model);

}  // namespace sbp
