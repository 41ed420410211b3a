// The ops of a graph in another order.
#pragma once

#include <span>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

// order[i] is the op that comes to stand at i: each op once, no reader in front of who writes what it reads.
void Reorder(std::span<const OpId> order, Graph& graph);

// The ops that `earlier` has, too, by name, in its order as far as what they read allows it; others stay behind the op
// that they stood behind.
void PutInOrderOf(const Graph& earlier, Graph& graph);

}  // namespace sbp
