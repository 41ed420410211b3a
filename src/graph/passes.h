// Which pass of a training step makes what of the data.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

enum class Pass : uint8_t { kNone, kForward, kBackward };

class DataPasses {
 public:
  // What ops make before their operands are known counts as kNone: ops are in order, but for those that only hand
  // weights on. Linear in ops.
  explicit DataPasses(const Graph& graph);

  // kNone: of no data, as weights, whatever type they are cast to, and what is made of them alone; also of no tensor.
  Pass of(TensorId tensor) const { return tensor.valid() ? passes_[tensor.index()] : Pass::kNone; }

  // Does the backward pass make it of what the forward pass left, and of nothing else but weights? It could then be
  // made as soon as the forward pass has: what is computed again, statistics of norms, masks.
  bool OpensBackward(const Op& op) const;

 private:
  const Graph& graph_;
  std::vector<Pass> passes_;  // per tensor
};

}  // namespace sbp
