// SequenceMap: a body on each tensor of a sequence.
#pragma once

#include "base/status.h"
#include "fold/pass_state.h"
#include "fold/subgraphs.h"
#include "graph/graph.h"

namespace sbp {

// As ResolveControl.
Result<ControlResults> ResolveSequenceMap(PassState& pass, Op& op);

}  // namespace sbp
