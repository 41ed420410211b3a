// The physical parts of two plans, compared.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "report/report.h"

namespace sbp {

// Tasks are matched by what they do, registers by what they hold. Offsets and lifetimes follow from these and from the
// order, and are no differences of their own; the arena's size is. Nothing where neither plan has a physical part.
void DiffPhysical(const Plan& a, const Plan& b, const DiffOptions& options, std::vector<PlanDifference>& out);

}  // namespace sbp
