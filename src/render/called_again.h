// Modules that are called several times, in an outline.
#pragma once

#include "graph/graph.h"
#include "render/outline_tree.h"

namespace sbp {

// Takes away scopes that results leave and enter again, each call doing the same, as of a block's one ReLU: folded into
// one box they would seem to feed what they follow. Their items stand in the scope around them, in the order of ops.
// For an outline of scopes alone, children after parents. Linear in edges x depth.
void DissolveCalledAgain(const Graph& graph, Outline& outline);

}  // namespace sbp
