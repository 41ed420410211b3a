// The results' types of one op that stays, from its rule; or from what the model states, where there is none.
#pragma once

#include "base/ids.h"
#include "base/status.h"
#include "fold/pass_state.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp {

// Puts the op down. Errors name it.
Status InferOp(PassState& pass, Op op);

// Warns where the model states another type of a result than follows. `stated`: numbers only; what symbols say may be
// stale.
void CheckStated(const PassState& pass, const Op& op, TensorId tensor, const TensorType& stated);

}  // namespace sbp
