// Sections of a training step that accumulates gradients: what runs once per micro-batch, and what runs once.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace sbp {

enum class Section : uint8_t {
  kMicro,  // Graph::micro_batches times a step: forward, backward, adding to accumulators
  kStep,   // once, after the last micro-batch: clipping, optimizer
};

// Per op. kStep: what reads the output of a tie that restarts, however far behind, and what only such ops read.
// Everything is kMicro where no tie restarts. Linear.
std::vector<Section> SectionsOf(const Graph& graph);

// How often a step makes the transitions of each tensor, given the sections: as often as its most frequent reader runs;
// as its producer where only the step's end asks.
std::vector<int64_t> RunsOfTransitions(const Graph& graph, const std::vector<Section>& sections);

}  // namespace sbp
