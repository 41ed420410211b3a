// Kernel groups around one op: which kernel it runs in, and what a candidate of it would cut.
#pragma once

#include <string>

#include "base/ids.h"
#include "plan/plan.h"
#include "problem/problem.h"

namespace sbp {

// "attention, with MatMul "qk" and 3 more; alone it would take 13 us", "none: ..."; "" in eager execution.
std::string KernelText(const Plan& plan, OpId op);

// Seconds in a step of the kernel groups that are cut around the op with this candidate, every other op as the plan has
// it; compare with boxing around it.
double CutSecondsAround(const Problem& problem, const Plan& plan, OpId op, size_t candidate);

}  // namespace sbp
