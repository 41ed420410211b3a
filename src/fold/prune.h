// Removes what feeds no output.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace sbp {

// Drops ops none of whose results lead to an output or tie, parameters that nothing reads, and the inputs whose entry
// in `droppable` is true (may be shorter than the inputs: the others stay) if nothing reads them. Renumbers. Returns
// which inputs were kept.
std::vector<bool> Prune(Graph& graph, const std::vector<bool>& droppable = {});

}  // namespace sbp
