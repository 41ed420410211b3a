// Ops of a pass that others take the place of.
#pragma once

#include <vector>

#include "base/status.h"
#include "fold/pass_state.h"
#include "graph/graph.h"

namespace sbp {

// If with a known condition: the branch's ops. `first_capture`: index into op.captures of the branch's first one.
std::vector<Op> InlineBranch(PassState& pass, const Op& op, const Graph& branch, size_t first_capture);

// Softmax and its kin of old opsets (kFlattenFrom), in today's form, which does not flatten. Error: it has no operand,
// or not so many dimensions.
Result<std::vector<Op>> ExpandFlattening(PassState& pass, Op op);

}  // namespace sbp
