// What a graph does not need.
#pragma once

#include "graph/graph.h"

namespace sbp {

// Drops ops that no output needs, and parameters that nothing reads any more. Inputs stay. Ids change.
void DropUnneeded(Graph& graph);

}  // namespace sbp
