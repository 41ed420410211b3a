// Attention as an exporter spells it: what lies between two products of activations, by way of a softmax.
#pragma once

#include <span>
#include <vector>

#include "fusion/op_traits.h"
#include "graph/graph.h"

namespace sbp {

// Per op: does it make the scores of attention or work on them, between the product of queries and keys, itself among
// them, and that with the values, which is not? Both products have operands of which none is made of parameters alone;
// between them are ops without products, one of which reduces. Linear.
std::vector<bool> FindScores(const Graph& graph, std::span<const OpTraits> traits,
                             const std::vector<bool>& of_parameters);

}  // namespace sbp
