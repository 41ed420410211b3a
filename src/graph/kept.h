// What the backward pass of a training graph reads of the forward pass, told from the graph alone (graph/phases.h).
#pragma once

#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

struct KeptTensor {
  TensorId tensor;
  std::vector<OpId> readers;  // ops of the backward pass, in the graph's order
};

// Tensors that ops of the forward pass write and ops of the backward pass read, as operands or captures of their
// bodies, in the order of tensors. Parameters and inputs are none of them, nor what is made of parameters alone
// (OfParameters): they are there without a backward pass. Linear.
std::vector<KeptTensor> FindKept(const Graph& graph);

// Per tensor: is it a parameter, or made of parameters and numbers alone, such as a copy in another type?
std::vector<bool> OfParameters(const Graph& graph);

bool HasBackward(const Graph& graph);

}  // namespace sbp
