// Layers that repeat, found by wiring alone: names play no part.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace sbp {

struct Layers {
  static constexpr int32_t kNone = -1;
  int32_t count = 0;           // 0: too little repeats
  std::vector<int32_t> of_op;  // per op: 0 to count - 1 in the order of the forward pass; kNone: of no layer
  std::vector<uint32_t> kind;  // per op: equal for ops of equal type, attributes and types of operands and results
};

// Ops play the same part whose types, attributes, shapes and neighbours are equal as far as a few edges around them;
// as many as most parts have members, so many layers there are. Backward pass and optimizer belong to the layers of the
// ops that they are wired to; ops of which most layers have none (embeddings, heads) to none. Requires a topological
// order. Linear in operands.
Layers FindRepeatedLayers(const Graph& graph);

}  // namespace sbp
