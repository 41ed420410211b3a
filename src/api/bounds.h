// What a plan says of all others, derived again by the search.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

// One bound that a plan states, in seconds of a step.
struct DerivedBound {
  std::string what;    // "lower bound" (of the sum of all prices), "bound of schedules"
  double stated = 0;   // by the plan
  double derived = 0;  // no plan takes less, as the search proves anew
  double reached = 0;  // what the best plan known now takes

  bool holds() const;     // derived is no less: the statement is verified
  bool is_false() const;  // a plan is known that takes less
};

// From the plan's graph, mesh, cluster, pins and memory limit alone; where that proves less than is stated, the
// search begins with its choices, too. Between the two, neither verified nor false, a statement is taken on trust: more
// `effort` (of `optimal`, about seconds of one processor) may verify it. Empty where the plan states no bound.
// `cancelled`: may be null. Requires a plan without violations. Error: as BuildProblem.
Result<std::vector<DerivedBound>> DeriveBounds(const Plan& plan, const RuleSet& rules, double effort,
                                               const std::function<bool()>& cancelled);

}  // namespace sbp
