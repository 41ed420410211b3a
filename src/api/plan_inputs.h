// Input values that shaped a plan: what is given must agree with them.
#pragma once

#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"

namespace sbp {

// Error (kBadInput): an input whose value shaped the graph is given as another one; names it and both values.
Status CheckAgainstAssumptions(const Graph& graph, const std::vector<TensorData>& given);
// Error (kBadInput): a tensor that is no input or parameter of the graph, or has another type; as `run` says it.
Status CheckTypes(const Graph& graph, const std::vector<TensorData>& given);
// The values that the graph assumes of inputs that are not among `given`.
Result<std::vector<TensorData>> AssumedInputs(const Graph& graph, const std::vector<TensorData>& given);

}  // namespace sbp
