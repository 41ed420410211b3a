// RunResults: what a run left on the devices of the whole mesh, brought to the process that leads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/actors/simulate.h"
#include "runtime/backends/backend.h"
#include "runtime/data/value.h"
#include "runtime/run/sharded_run.h"

namespace sbp {

struct RunResults {
  // Parts by output, micro-batch and device. A sequence, of which every device has a copy, is there once.
  std::vector<std::vector<std::vector<Value>>> outputs;
  std::vector<std::vector<Value>> registers;  // parts by register and device; as ShardedRun::RegisterParts
  std::optional<ShardedRun::NaNOrigin> first_nan;
  std::vector<Span> spans;
  double seconds = 0;        // until the last device was done
  int64_t device_bytes = 0;  // of the device that needs most
};

// The spans of all devices, at the process that leads. Called by all processes.
Result<std::vector<Span>> GatherSpans(const EngineResult& engine, Backend& backend);

// One output alone (none: -1), and the facts of the run. Called by all processes.
Result<RunResults> GatherOutput(const Plan& plan, const ShardedRun& sharded, const EngineResult& engine, int output,
                                Backend& backend);

// Called by all processes; empty where the backend does not lead.
Result<RunResults> GatherResults(const Plan& plan, const PhysicalPlan& physical, const ShardedRun& sharded,
                                 const EngineResult& engine, Backend& backend);

}  // namespace sbp
