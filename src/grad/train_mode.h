// Ops that were exported for inference, as they are in training.
#pragma once

#include "base/status.h"
#include "grad/appender.h"

namespace sbp {

// Dropout drops, by a mask that follows from a seed and the place of each element in the whole tensor, so that every
// sharding draws the same. BatchNormalization takes the statistics of the whole batch and updates the running ones:
// outputs "next/P", tied to P. In place; ids stay. Bodies of control flow are left as they are. Error (kBadInput): the
// graph has neither op; a name is taken.
Status ToTrainMode(Appender& appender);

}  // namespace sbp
