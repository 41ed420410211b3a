// What the memory of a training step is for (graph/phases.h, graph/kept.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace sbp {

// Of one device at the moment of the peak. Every buffer that is alive then is one of these; together with the
// workspace of kernels they are the peak.
struct MemorySplit {
  int64_t parameters = 0;   // and what is made of them alone, such as copies in another type; their next values
  int64_t gradients = 0;    // as written, and reduced for the update; accumulators
  int64_t states = 0;       // of the optimizer; their next values
  int64_t kept = 0;         // of the forward pass, for the backward pass
  int64_t activations = 0;  // all else that ops write, and inputs
  int64_t buffers = 0;      // copies that boxing makes, but for those of gradients and kept activations
};
// In the order and by the names in which people read them.
std::array<std::pair<std::string_view, int64_t>, 6> PartsOf(const MemorySplit& split);

// Nothing for a graph without a backward pass, or a plan whose memory was not asked for. Linear.
std::optional<MemorySplit> SplitPeak(const Plan& plan);

// Per buffer of Lifetimes(plan, OrderOfStep(plan)): which of PartsOf it counts as. Empty for a graph without a backward
// pass. Linear.
std::vector<uint8_t> PartsOfBuffers(const Plan& plan);

// Per tensor: bytes that a device holds of it for the backward pass: as it was written or in copies that the forward
// pass made, whatever of it the backward pass reads. 0 for what is not kept.
std::vector<int64_t> KeptBytesOnDevice(const Plan& plan);

}  // namespace sbp
