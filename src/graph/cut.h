// Cutting a graph: the part of it that leads to one tensor.
#pragma once

#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

struct CutResult {
  Graph graph;                    // `until` is its only output; ops in the same order
  std::vector<TensorId> tensors;  // new id of each old tensor; invalid: dropped
  std::vector<OpId> ops;          // likewise
};

// Keeps the ops that `until` follows from, all they read and write, and no ties. Subgraphs of ops stay whole.
CutResult CutGraph(const Graph& graph, TensorId until);

}  // namespace sbp
