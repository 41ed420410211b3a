// Depth-first search over all choices that a dual bound does not rule out: the proof for small cores and small gaps.
#pragma once

#include <cstdint>
#include <vector>

#include "search/core.h"
#include "search/dual.h"

namespace sbp {

struct BranchResult {
  bool complete = false;        // nothing below the returned cost was left out
  bool found = false;           // a feasible choice that costs less than `upper`
  std::vector<int32_t> choice;  // the cheapest such
};

// Nodes are chosen in their order; a part is left out when the bound, with what its nodes and edges cost above it,
// shows that nothing cheaper than `upper` follows, or when memory exceeds a limit. Gives up after `most_work`
// candidates.
BranchResult Branch(const Core& core, const DualAscent& dual, double upper, int64_t most_work);

}  // namespace sbp
