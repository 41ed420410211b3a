// Memory over time, cut down: which time steps can exceed the limit at all, and what each node holds at those.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/core.h"

namespace sbp {

// Rewrites the holds of `nodes` (indices of `limits`) so that those of one node do not overlap, none is the same for
// all candidates and the least usage of each is 0; takes what every choice holds from the limits; and drops the steps
// whose limit cannot be exceeded or follows from that of a neighbouring step. Returns a step (as numbered before) whose
// limit is exceeded by any choice, if there is one; `nodes` and `limits` are then of no use. `old_step[i]` becomes the
// old number of step i.
std::optional<int32_t> CompressTimeline(std::vector<Core::Node>& nodes, std::vector<double>& limits,
                                        std::vector<int32_t>& old_step);

}  // namespace sbp
