// What a training step has of each parameter besides itself, told by ties and by the names that `grad` gives.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

struct ParameterFamily {  // invalid: there is none
  TensorId parameter;
  TensorId next;                 // the output that replaces it
  TensorId gradient;             // "grad/P"
  TensorId accumulator, summed;  // an input, the sum of gradients over micro-batches, and its next value
  std::vector<TensorId> states;  // of the optimizer, inputs, in the order of ties
};
// One for each of `parameters`, in their order. Linear.
std::vector<ParameterFamily> FindFamilies(const Graph& graph, std::span<const TensorId> parameters);

// The op in front of what reads a parameter anew (rules/optimizer.rules).
inline constexpr std::string_view kRefetchOp = "sbp::Refetch";

// Does the op give what it reads, perhaps as another type of float: a Cast, or kRefetchOp? A use behind it is a use of
// what it reads.
bool HandsOn(const Graph& graph, const Op& op);

// Is the parameter a master: is it read but by the update, and only behind casts to narrower types, as --compute has
// it? `uses`: BuildUses(graph).
bool IsMaster(const Graph& graph, const UseTable& uses, TensorId parameter);

// Does the op give the elements of its first operand, of one result, perhaps in another order or shape (Transpose,
// Reshape)?
bool MovesOnly(const Graph& graph, const Op& op);

}  // namespace sbp
