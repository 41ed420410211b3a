// Loop and Scan: the rounds of their bodies, and what grows or is assumed from round to round.
#pragma once

#include "base/status.h"
#include "fold/pass_state.h"
#include "fold/subgraphs.h"
#include "graph/graph.h"

namespace sbp {

// As ResolveControl.
Result<ControlResults> ResolveLoop(PassState& pass, Op& op);
Result<ControlResults> ResolveScan(PassState& pass, Op& op);

}  // namespace sbp
