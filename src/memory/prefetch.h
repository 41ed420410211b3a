// Boxing ahead: what is sent between devices is sent while something else is computed, as far as memory lets it.
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace sbp {

// Sets Transition::ahead_of, or an earlier op than it is, of transitions between devices that start from a tensor as it
// was written: gathered weights, which depend on nothing, and sums of gradients, which are there long before the
// optimizer wants them. Each starts as late as it can and still be done, if compute takes the seconds that it does and
// collectives go one after the other in the order in which they are wanted, with a quarter of its time to spare; not
// before the tensor is there, and not before the memory of what it makes is free. Other transitions, and those whose
// time is short as it is, stay.
//
// `room`: bytes per device that the buffers of the step may take together at any time. Where they take more without
// boxing ahead, they take no more with it. In-place writes, layouts, transitions and decisions of the plan must stand;
// in-place writes stay good, more may become possible. Graphs of several micro-batches have none. Time: n log n in ops
// and transitions.
void SendAhead(Plan& plan, int64_t room);

// What the step may take, workspace included: the options' memory limit, else the device's memory; but where the
// options say so, at most that much above what it takes without boxing ahead (`peak`). At least that.
int64_t RoomAhead(const Plan& plan, int64_t peak);

}  // namespace sbp
