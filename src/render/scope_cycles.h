// Scopes of an outline that results leave and enter again. Folded into one box each would seem to feed what it follows.
#pragma once

#include "graph/graph.h"
#include "render/outline_tree.h"

namespace sbp {

// Of a module that is called several times, each call doing the same, as a block's one ReLU, the items stand in the
// scope around it, in the order of ops. Ops between the parts of a single scope, as one that a fusion made of several,
// stand in it. Other cycles stay. For an outline of scopes alone, children after parents. Linear in edges x depth.
void BreakCycles(const Graph& graph, Outline& outline);

}  // namespace sbp
