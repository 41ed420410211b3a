// Where a step turns: one op, such as the loss of a training step, that parts it in two. What the op depends on has run
// before it ends, what depends on it runs behind. The rest may run on either side.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "problem/problem.h"

namespace sbp {

enum class StepSide : uint8_t { kEither, kBefore, kBehind };

// Per op; the op itself is before. Linear in ops and operands. `op` must be one of the problem's.
std::vector<StepSide> SidesOfTurn(const Problem& problem, OpId op);

}  // namespace sbp
