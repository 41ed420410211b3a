// When tensors take memory, as far as the graph, its kernel groups and what is written in place tell: whatever the
// layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem/problem.h"

namespace sbp {

// Times are numbers of ops, and one more for the end of the step.
struct HeldTimes {
  std::vector<int64_t> firsts;  // per tensor: from when on it is counted
  std::vector<int64_t> lasts;   // per tensor: the first time at which nobody reads it
  std::vector<bool> kept;       // per tensor: as it was written until the end
  std::vector<bool> in_place;   // per tensor: it lies where a state does

  bool takes_none(size_t tensor) const { return in_place[tensor] || firsts[tensor] >= lasts[tensor]; }
};

// Relaxed: held is at most what a plan holds, so that a bound under a limit stays one: what a tied output, or one whose
// layout at the end is said, is boxed to then takes its place.
HeldTimes HeldTimesOf(const Problem& problem, bool relaxed);

}  // namespace sbp
