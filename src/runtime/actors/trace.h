// What ran when, as a trace for chrome://tracing and Perfetto.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"

namespace sbp {

// Bytes of the arena in use on one device from `seconds` on.
struct MemorySample {
  double seconds = 0;
  int64_t bytes = 0;
  friend bool operator==(const MemorySample&, const MemorySample&) = default;
};

// From the spans of one device: a copy of a register is in use from the start of its writer to the end of its last
// reader (of the writer, where nobody reads it); parameters throughout. Ascending times, one sample each.
std::vector<MemorySample> MemoryOverTime(const Plan& plan, const PhysicalPlan& physical, const ActorGraph& graph,
                                         std::span<const Span> spans);

// Two processes a device, measured and predicted side by side (either may be empty), each with a track for compute, one
// for communication, and a counter of memory. Events say micro-batch and predicted time. JSON in the Trace Event
// Format; the same spans give the same bytes.
std::string TraceJson(const Plan& plan, const PhysicalPlan& physical, const ActorGraph& graph,
                      std::span<const Span> measured, std::span<const Span> predicted);

}  // namespace sbp
