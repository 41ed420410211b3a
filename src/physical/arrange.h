// The order of a step's tasks, and where their registers lie, so that the two streams seldom wait for each other.
#pragma once

#include <cstdint>

#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {

// One n-th of what the registers of the plan's own order take together: so much more the arena may be where neither a
// limit nor the device's memory is known.
inline constexpr int64_t kArenaAllowance = 10;

// Bytes that an arena may have for the streams' sake, of a plan whose registers take `live` at most together in its own
// order: the memory limit, else the device's memory, less the workspace of kernels; at least `live`. (Gradients of a
// step pile up while collectives lag behind compute: an arena without room for that is what the step then waits for.)
int64_t RoomOfArena(const Plan& plan, int64_t live);

// Of a physical plan with tasks in the order of OrderOfStep (memory/memory.h), registers and their lifetimes: gives the
// order of the tasks, lifetimes in it, and offsets.
//
// In the plan's own order registers share bytes as soon as their lifetimes in it are apart. But the streams leave that
// order: compute then waits for a sum of gradients that is behind, and boxing for compute. So tasks are listed as the
// schedule (schedule/schedule.h) starts them while registers take no more than RoomOfArena, and a register holds its
// data until the last task that starts before those that use it have ended. Where that arena is
// too large, what runs ahead of the plan's own order leaves bytes to what stands first in it, more and more, up to all
// of them; where the arena of the plan's order is better, that stays. Of several micro-batches, which overlap anyway,
// the order is that of the schedule of one, if it fits into the room, and registers end with their last users.
// Registers are then numbered as tasks write them.
//
// Up to 33 schedules without memory and 4 times what PlaceBest and a schedule take; mostly one and two. Deterministic.
void Arrange(const Plan& plan, PhysicalPlan& physical);

}  // namespace sbp
