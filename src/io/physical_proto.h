// The physical part of a plan, to its message and back.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "schemas/plan.pb.h"

namespace sbp {

void PhysicalToMessage(const Plan& plan, sbp_plan::v1::Physical& message);
// Reads into plan.physical; the rest of the plan must be there. Every number that indexes something is checked.
Status PhysicalFromMessage(const sbp_plan::v1::Physical& message, const NameIndex& names, Plan& plan);

}  // namespace sbp
