// What the two streams of a device may overlap, and what memory forbids.
#pragma once

#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {

// Fills Task::after: before a task overwrites memory that tasks of the other stream used, those have ended.
void OrderReuse(const Plan& plan, PhysicalPlan& physical);

}  // namespace sbp
