// The planning pipeline: load, resolve, problem, strategy, evaluate. Each stage can be timed, verified and dumped.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cluster/cluster.h"
#include "fold/resolve.h"
#include "graph/graph.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "strategy/strategy.h"

namespace sbp {

// A model file in memory, in any of the encodings, as a graph that may still have symbols. Small values in external
// data are read beside `path`, where that is given.
Result<Graph> LoadModel(std::string_view bytes, std::string_view where, const std::string& path = "");

// What a request asks, before anybody has chosen. Stays where it is: the problem points into the plan.
struct PosedProblem {
  Plan plan;  // without decisions
  Problem problem;
};
// Stages, in order: graph (ties, verified), problem. Cancelled: error kNoPlan.
Result<std::unique_ptr<PosedProblem>> PoseProblem(PlanRequest request, const StageObserver& observer = {});

// The same stages, then: strategy, bound (where the strategy finds none and one is wanted), evaluate, order (where the
// strategy is asked for the shortest, op_order.h). Cancelled: error kNoPlan.
Result<Plan> MakePlan(PlanRequest request, const StageObserver& observer = {});

// The program's version, "0.1.0", as plans record it.
std::string_view Version();

// The problem that a plan answers, built again from the plan alone (its graph, rules, pins, flags). Used by explain,
// fixed and check. The problem points into `plan`, which must outlive it and stay where it is.
Result<Problem> RebuildProblem(const Plan& plan, const RuleSet& rules);

// Ties found by name: an output whose name equals an input's or parameter's name up to a prefix or suffix that all such
// pairs share ("new.w" and "w", "w_out" and "w", "new.h.w" and "net/h/w"; separators count as equal), with equal type.
// When several affixes fit, the one that most pairs share; none when two fit equally many. Of those, the updates:
// computed from the input and something else, two or more by ops of one type, or one of a parameter. None of StableHLO,
// which says itself what is donated to which result.
std::vector<Tie> FindTiesByName(const Graph& graph);

}  // namespace sbp
