// Adoption: ops that the exporter left without a scope are where their neighbours are.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sbp {

// Per op its scope; for an op without one the longest scope that holds all its neighbours: the producers of its
// operands and the readers of its results, as far as they have one, are of the same phase (graph/phases.h) and no part
// of the loss. Scope "backward" alone counts as none. Views of graph.scopes.
std::vector<std::string_view> AdoptScopes(const Graph& graph);

}  // namespace sbp
