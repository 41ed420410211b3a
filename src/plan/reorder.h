// A plan with the ops of its graph in another order: the same choices and boxing, for schedules to be compared.
#pragma once

#include <span>

#include "base/ids.h"
#include "plan/plan.h"

namespace sbp {

// `order` as graph/reorder.h has it. What the order decides stays as it was: memory, what is sent ahead, what is
// written in place, and the physical part, which is left out.
Plan Reordered(const Plan& plan, std::span<const OpId> order);

}  // namespace sbp
