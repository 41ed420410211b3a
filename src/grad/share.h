// Common subexpressions.
#pragma once

#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Lets readers of an op's results read those of the first op that computes the same: of one type, with equal attributes
// and operands. What is left without readers stays until DropUnneeded; ids and names stay. Not: ops that draw random
// numbers, have bodies, or are to compute anew. Linear in the graph.
void ShareEqualOps(Graph& graph, const RuleSet& rules);

}  // namespace sbp
