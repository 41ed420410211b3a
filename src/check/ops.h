// Ops against their rules: arguments, result types, signatures, prices, pins.
#pragma once

#include "check/findings.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

struct OpTotals {
  double seconds = 0;          // the sum of compute seconds
  double workspace_bytes = 0;  // the most of one op
};
// Derived op by op. Equal ops ask the rules once.
OpTotals CheckOps(const Plan& plan, const RuleSet& rules, Findings& findings);

}  // namespace sbp
