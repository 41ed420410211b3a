// Where tests begin that walk over all plans of a problem.
#pragma once

#include "problem/problem.h"
#include "strategy/strategy.h"

namespace sbp {

// The first candidate of each op; inputs and parameters start where greedy walks have them.
inline Assignment FirstAssignment(const Problem& problem) {
  Assignment assignment;
  assignment.reasons = {"test"};
  assignment.ops.resize(problem.num_ops());
  assignment.sources = InitialSourceLayouts(problem);
  return assignment;
}

}  // namespace sbp
