// Boxing: every reader gets the layout it needs, by steps that are legal, connected and rightly priced.
#pragma once

#include "check/findings.h"
#include "plan/plan.h"

namespace sbp {

struct BoxingTotals {
  double seconds = 0, bytes_moved = 0;
};
BoxingTotals CheckTransitions(const Plan& plan, Findings& findings);

}  // namespace sbp
