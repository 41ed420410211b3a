// Ops against their rules: arguments, result types, signatures, prices, pins.
#pragma once

#include "check/findings.h"

namespace sbp {

// The sum of compute seconds, derived op by op. Equal ops ask the rules once.
double CheckOps(const Plan& plan, const RuleSet& rules, Findings& findings);

}  // namespace sbp
