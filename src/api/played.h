// The micro-batches of a physical plan, played in virtual time, for pictures.
#pragma once

#include <cstddef>
#include <optional>

#include "base/status.h"
#include "plan/plan.h"
#include "schedule/micro_batches.h"

namespace sbp {

// When a device runs each task of each micro-batch that streams through the arena: what `run --backend fake` plays
// (runtime/actors/simulate.h), where all devices run the same. Nothing of a plan whose physical part has one
// micro-batch or none, whose graph has micro-batches of its own (PlayMicroBatches), or of more than `most` tasks in
// all. Error (kDefect): a physical plan that deadlocks.
Result<std::optional<MicroBatches>> PlayPhysical(const Plan& plan, size_t most);

}  // namespace sbp
