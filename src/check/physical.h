// The physical part of a plan: every op and boxing step once, in an order in which data is there; registers that hold
// what they must, as long as they must, in memory of their own.
#pragma once

#include "check/findings.h"
#include "plan/plan.h"

namespace sbp {

// The logical part must be sound.
void CheckPhysical(const Plan& plan, Findings& findings);

}  // namespace sbp
