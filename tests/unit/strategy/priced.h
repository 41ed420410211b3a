// What assignments of small problems take, alone and within a memory limit.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "strategy/evaluate.h"
#include "strategy/strategy.h"
#include "support/every_plan.h"
#include "support/listed_problem.h"

namespace sbp {

struct Priced {
  double seconds = 0;
  int64_t peak = 0;
};

inline Priced PriceOf(const ListedProblem& made, const Assignment& assignment) {
  const Plan plan = EvaluatedPlan(made.problem, assignment);
  return {plan.total.seconds(), plan.memory.peak_bytes};
}

// Every assignment and its price.
template <typename See>
void ForEveryPrice(const ListedProblem& made, See see) {
  const std::vector<TensorId> input = {made.graph->inputs[0]};
  ForEveryAssignment(made.problem, input,
                     [&](const Assignment& assignment) { see(PriceOf(made, assignment), assignment); });
}

// What the plan takes within the limit, where copies may take the place of tensors early; infinite: it does not fit.
inline double SecondsWithin(const ListedProblem& made, const Assignment& assignment, int64_t limit) {
  Plan plan;
  plan.graph = *made.graph;
  plan.mesh = made.problem.mesh;
  plan.cluster = made.problem.boxing->cluster();
  plan.options.memory_limit = limit;
  const bool fits = Evaluate(made.problem, assignment, plan).ok();
  EXPECT_TRUE(!fits || plan.memory.peak_bytes <= limit);
  return fits ? plan.total.seconds() : INFINITY;
}

}  // namespace sbp
