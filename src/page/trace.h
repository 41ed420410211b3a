// A trace as `run --trace` writes it (runtime/actors/trace.h), read back to stand beside the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "plan/plan.h"

namespace sbp {

// What ran: an op, a boxing step, or neither (neighbours' elements before an op count as communication of the op).
struct TraceEvent {
  uint32_t device = 0;
  uint32_t micro_batch = 0;
  bool communication = false;
  OpId op;                        // invalid: a boxing step
  int32_t transition = -1;        // index into Plan::transitions
  int32_t step = -1;              // of that transition
  double start = 0, seconds = 0;  // from the start of the first event
};

struct PlanTrace {
  std::string path;
  std::string kind;  // "measured", or "predicted" of a file that holds no measured times (the fake backend's)
  uint32_t devices = 0, micro_batches = 1;
  double seconds = 0;              // to the end of the last event
  std::vector<TraceEvent> events;  // by device, start
};

// Events are found by name: ops by type and name, boxing steps by collective, axis and tensor, in the plan's order
// where several are called alike. Linear in the text. Errors (kBadInput): no JSON (with line and column), no Trace
// Event Format, no process that `run --trace` would name, an event of another plan, or with times that no run has (no
// number, a negative duration, more than a day after the first).
Result<PlanTrace> ReadTrace(std::string_view text, std::string_view path, const Plan& plan);

}  // namespace sbp
