// Which float parameters of a model are weights, and which only constants that an exporter wrote down.
#pragma once

#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Per tensor: a float parameter that training would change. Not: numbers of rank 0 (exponents, epsilons, scales);
// running statistics of BatchNormalization; tables of angles, from which sines and cosines are made; masks, which hold
// an infinity or a number of 1e9 and more; positions, whose rows rise or fall in equal steps (eight numbers at least),
// and numbers that are read with them alone (the slopes of ALiBi); numbers from which an op's sizes follow (scales of
// Resize); single numbers that torch's exporter wrote without a name ("val_82"); buffers, where the model says which
// they are. An ONNX file does not say which of its initializers are weights.
std::vector<bool> FindTrainable(const Graph& graph, const RuleSet& rules);

}  // namespace sbp
