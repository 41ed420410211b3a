// Where a step turns: one op, such as the loss of a training step, that parts it in two. What the op depends on has run
// before it ends, what depends on it runs behind; so have collectives been sent that lead to the former, and are sent
// behind it those of what the latter write. The rest may run on either side.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "problem/problem.h"

namespace sbp {

enum class StepSide : uint8_t { kEither, kBefore, kBehind };

struct Turn {
  std::vector<StepSide> ops;
  // Of what is sent of a tensor. kEither: it depends on who reads it; for ops before the turn it is sent before. So are
  // all that are tied.
  std::vector<StepSide> tensors;
};

// The op itself is before. Linear in ops and operands. `op` must be one of the problem's.
Turn TurnAt(const Problem& problem, OpId op);

}  // namespace sbp
