// Numbers of registers that do not depend on those of tensors.
#pragma once

#include "graph/graph.h"
#include "plan/physical_plan.h"

namespace sbp {

// Inputs, parameters, then what the tasks write, in their order; what no task writes is left out.
void NumberRegisters(const Graph& graph, PhysicalPlan& physical);

}  // namespace sbp
