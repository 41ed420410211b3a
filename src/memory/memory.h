// Memory of one device over a step: tensor lifetimes in execution order, boxing buffers included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace sbp {

// Bytes of the largest local part.
int64_t LocalBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh);

// A buffer and the interval of op positions [first, last] in which it is alive.
struct Lifetime {
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;
  TensorId tensor;
  int32_t transition = -1;          // index into Plan::transitions; -1: the tensor in its own layout
  const char* kind = "activation";  // "parameter", "input", "activation", "boxing"
};

// Every buffer of a step: parameters live throughout (also inputs and outputs: their owner keeps them); an activation
// from its producer to its last reader; a boxed copy from the transition (at its first consumer) to its last consumer,
// together with each step's intermediate while it runs. Reads graph, layouts and transitions of the plan only.
std::vector<Lifetime> Lifetimes(const Plan& plan);

// The peak and its largest holders. Linear in buffers.
MemorySummary PeakMemory(const Plan& plan, const std::vector<Lifetime>& lifetimes);

}  // namespace sbp
