// The transitions of one tensor: every layout that somebody wants, each reached once, from whichever layout of the
// tensor already stands somewhere and is cheapest to start from.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "boxing/boxing.h"
#include "plan/plan.h"

namespace sbp {

// A layout that some readers want, and when the first of them runs (op index; the number of ops: the end of the step).
struct Demand {
  NdSbp layout;
  std::vector<Use> consumers;  // empty: wanted by a tie
  uint32_t first = 0;
};

// A transition and when it runs.
struct TimedTransition {
  Transition transition;
  uint32_t time = 0;
};

// Appends the transitions that meet `demands` (ordered by `first`, layouts distinct and other than `written`) in the
// order in which they run. Paths that start alike share their common part: a layout from which paths part is a
// transition of its own, with the consumers that want it (perhaps none). Error (kNoPlan): a layout cannot be reached.
Status MakeTransitions(TensorId tensor, const Tensor& facts, const NdSbp& written, const std::vector<Demand>& demands,
                       BoxingTable& boxing, std::vector<TimedTransition>& out);

}  // namespace sbp
