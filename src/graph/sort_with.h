// Topological order that keeps more than what data ask for.
#pragma once

#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"

namespace sbp {

// As SortTopologically, with the first op of each pair in front of the second, too.
Status SortWith(const std::vector<std::pair<OpId, OpId>>& pairs, Graph& graph);

}  // namespace sbp
