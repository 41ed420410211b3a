// Are all numbers of a plan in range, so that the other checks may follow them?
#pragma once

#include "check/findings.h"
#include "plan/plan.h"

namespace sbp {

void CheckStructure(const Plan& plan, Findings& findings);

}  // namespace sbp
