// May each result that is written over an operand be written there?
#pragma once

#include "check/findings.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

// The op's rule pairs the two, their parts are equally large and split alike, no op and no boxing step reads the buffer
// afterwards, the caller does not find it at the end, and nobody else overwrites it. A state (input or parameter) is
// overwritten only by what a tie makes its next value.
void CheckInPlace(const Plan& plan, const RuleSet& rules, Findings& findings);

}  // namespace sbp
