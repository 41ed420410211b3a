// Assignments from files: --assignment FILE for --strategy fixed (a plan, or a pins file that covers every op), --start
// FILE for --strategy optimal (an earlier plan).
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"

namespace sbp {

// Fills request.strategy.given_signatures and given_sources. Ops and tensors are matched by name. Errors (kBadInput):
// an op of the graph that the file does not cover, a plan made for another number of mesh axes.
Status ReadAssignment(const std::string& path, PlanRequest& request);

// Fills request.strategy.start_signatures and start_sources from a plan, and how uniform it is to be, where the request
// does not say. Ops and tensors are matched by name; what the plan lacks stays absent. Errors (kBadInput): no plan, one
// for another number of mesh axes, one that has no op of the graph.
Status ReadStart(const std::string& path, PlanRequest& request);

// Likewise from a plan with as many mesh axes. Returns how many ops of the graph it has.
size_t StartFrom(const Plan& plan, PlanRequest& request);

}  // namespace sbp
