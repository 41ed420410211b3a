// Loops of known length as the ops that they run, and sequences as the tensors that they hold: what reverse
// differentiation needs to see.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"

namespace sbp {

// Ops that unrolling may add to one graph.
inline constexpr int64_t kMostUnrolled = int64_t{1} << 20;

// Is an op of this type a loop, or one on sequences, that may be gone when a graph is unrolled?
bool IsUnrolled(std::string_view type);

// Of a resolved graph: each Scan, and each Loop whose number of trips is stated and whose body does not stop it, that
// lies between `targets` and `seeds`, one body after the other; there SequenceMap on a known sequence, too. Ops that
// take tensors out of sequences (or optionals) whose making is seen read these tensors. Names of what a body holds are
// "LOOP/TRIP/NAME"; names of outputs, inputs and parameters stay; ids change. Linear in what comes out.
// Errors (kBadInput), which name the op: a number of trips that is not known, and what would make it known; carried
// sizes that grow; more than kMostUnrolled ops.
Result<Graph> Unroll(Graph graph, std::span<const TensorId> targets, std::span<const TensorId> seeds);

}  // namespace sbp
