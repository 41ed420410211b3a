// --assignment FILE for --strategy fixed: a plan, or a pins file that covers every op.
#pragma once

#include <string>

#include "base/status.h"
#include "pipeline/pipeline.h"

namespace sbp {

// Fills request.strategy.given_signatures and given_sources. Ops and tensors are matched by name. Errors (kBadInput):
// an op of the graph that the file does not cover, a plan made for another number of mesh axes.
Status ReadAssignment(const std::string& path, PlanRequest& request);

}  // namespace sbp
