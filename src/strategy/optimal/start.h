// Planning again: the search begins at an earlier plan, of this model or one much like it.
#pragma once

#include "base/status.h"
#include "problem/problem.h"
#include "strategy/strategy.h"

namespace sbp {

// The assignment nearest to options.start_signatures and start_sources: where an op no longer has its earlier
// signature (a pin or the mesh forbids it), the allowed candidate that has most layouts in common with it; what the
// earlier plan does not know is as `otherwise` has it. Errors: as AllowedCandidates.
Result<Assignment> AssignmentNearStart(const Problem& problem, const StrategyOptions& options,
                                       const Assignment& otherwise);

}  // namespace sbp
