// Cutting a plan: the part of it that leads to one tensor.
#pragma once

#include "base/ids.h"
#include "plan/plan.h"

namespace sbp {

// The plan in which `until` is the only output: the decisions, transitions and starting layouts of what leads to it, as
// they were; totals, memory and the physical part (where there is one) taken anew, in eager execution: as the runtime
// does. Pins and ties of other parts would match nothing and are dropped, as is the bound. The result passes `check`.
Plan CutPlan(const Plan& plan, TensorId until);

}  // namespace sbp
