// What tasks wait for because they write memory that others have used.
#pragma once

#include <vector>

#include "plan/physical_plan.h"
#include "schedule/play.h"

namespace sbp {

// Pairs of tasks of the physical plan, the first of which must have ended before the second starts: readers of a
// register (its writer, where nobody reads it) before what overwrites its bytes, and Task::after. Of one micro-batch;
// registers of several copies have their bytes for themselves.
std::vector<TaskEdge> MemoryEdges(const PhysicalPlan& physical);

}  // namespace sbp
