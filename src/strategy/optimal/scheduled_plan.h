// What a search found, as the plan whose schedule counts.
#pragma once

#include <utility>

#include "base/status.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "strategy/evaluate.h"
#include "strategy/strategy.h"

namespace sbp {

// With what is sent ahead, as far as limit and prefetch of `options` leave room; without reasons. Error: the assignment
// is not complete, or exceeds the memory limit (kNoPlan).
inline Result<Plan> ScheduledPlan(const Problem& problem, const StrategyOptions& options,
                                  const Assignment& assignment) {
  Plan plan;
  plan.graph = *problem.graph;
  plan.mesh = problem.mesh;
  plan.cluster = problem.boxing->cluster();
  plan.options.memory_limit = options.memory_limit;
  plan.options.prefetch = options.prefetch;
  SBP_RETURN_IF_ERROR(Evaluate(problem, assignment, plan, {.reasons = false, .ahead = true}));
  return std::move(plan);
}

}  // namespace sbp
