// From where each transition of a step starts, and when it runs: derived here once more, by what the words say.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "plan/plan.h"

namespace sbp {

struct TransitionOrder {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> source;  // the transition whose copy it reads; kNone: the tensor as it was written
  // The op, its own reader, that of one that starts from it, or what it is sent ahead of; kNone: the end.
  std::vector<uint32_t> runs_before;
};
TransitionOrder OrderOfTransitions(const Plan& plan);

}  // namespace sbp
