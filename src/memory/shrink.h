// Boxing early: where a copy takes less than the tensor that it is made of, and nothing else reads that any more.
#pragma once

#include "plan/plan.h"

namespace sbp {

// Sets Transition::ahead_of of transitions that leave less of an activation than there was: each runs as soon as all
// other readers of the tensor as it was written are through (those of what views make of it, too), so that until its
// own reader comes only the smaller copy is held. So are kept activations that the backward pass reads split. What is
// smaller before may be larger at the moment at which both are there: the peak need not be lower. Graphs of several
// micro-batches have none. Layouts, transitions and decisions of the plan must stand; in-place writes are to be found
// again. Returns whether any was set. Linear in ops, transitions and uses.
bool ShrinkEarly(Plan& plan);

}  // namespace sbp
