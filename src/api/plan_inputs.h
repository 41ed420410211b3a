// Input values that shaped a plan: what is given must agree with them.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"

namespace sbp {

// Is there a tensor of this name?
bool IsGiven(const std::vector<TensorData>& given, std::string_view name);

// Error (kBadInput): an input whose value shaped the graph is given as another one; names it and both values.
Status CheckAgainstAssumptions(const Graph& graph, const std::vector<TensorData>& given);
// Error (kBadInput): a tensor that is no input or parameter of the graph, or has another type; as `run` says it.
Status CheckTypes(const Graph& graph, const std::vector<TensorData>& given);
// Error (kBadInput): a label of a loss over classes is none of them and is not ignored. Losses pick a score by it, from
// the end where it is negative: with labels of -100, as many data sets mark what does not count, a model would learn
// another class, and nobody would see it.
Status CheckLabels(const Graph& graph, const std::vector<TensorData>& given);
// The values that the graph assumes of inputs that are not among `given`.
Result<std::vector<TensorData>> AssumedInputs(const Graph& graph, const std::vector<TensorData>& given);

inline constexpr double kDefaultRate = 1e-3;

// What a training step begins with where nobody says: states are zeros, `step` is 1, `lr` the default rate. Only inputs
// of the graph that are not among `given`.
std::vector<TensorData> FirstStates(const Graph& graph, const std::vector<TensorData>& given);
// The input of this name, if it is a number (of rank 0); null: there is none.
const Tensor* FindNumber(const Graph& graph, std::string_view name);
// A value for it.
TensorData NumberFor(const Tensor& tensor, double value);

}  // namespace sbp
