// Sections of a training step that accumulates gradients: what runs once per micro-batch, and what runs once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

enum class StepSection : uint8_t {
  kMicro,  // Graph::micro_batches times a step: forward, backward, adding to accumulators
  kStep,   // once, after the last micro-batch: clipping, optimizer
};

// Per op. kStep: what reads the output of a tie that restarts, however far behind, and what only such ops read.
// Everything is kMicro where no tie restarts. Linear.
std::vector<StepSection> SectionsOf(const Graph& graph);

// How often a step runs each op. What it does to a tensor for the sake of its end, which its producer leaves: as often
// as that runs; an accumulator must lie for each micro-batch as for the first one.
class StepRuns {
 public:
  StepRuns() = default;  // everything once
  explicit StepRuns(const Graph& graph);
  // 1 for what is not in the graph.
  int64_t of(OpId op) const { return op.index() < ops_.size() ? ops_[op.index()] : 1; }
  int64_t end(TensorId tensor) const { return tensor.index() < ends_.size() ? ends_[tensor.index()] : 1; }
  bool accumulates(TensorId tensor) const { return tensor.index() < sums_.size() && sums_[tensor.index()]; }

 private:
  std::vector<int64_t> ops_, ends_;  // empty: all once
  std::vector<bool> sums_;           // outputs of ties that restart
};

}  // namespace sbp
