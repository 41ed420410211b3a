// Ops with subgraphs that are kept whole: their bodies are resolved, and their results' types follow.
#pragma once

#include <memory>
#include <optional>

#include "base/status.h"
#include "fold/pass_state.h"
#include "fold/subgraphs.h"
#include "graph/graph.h"

namespace sbp {

// The branch that an If takes, when its condition is known.
struct KnownBranch {
  std::shared_ptr<const Graph> graph;
  size_t first_capture = 0;  // index into op.captures of the branch's first captured tensor
};
Result<std::optional<KnownBranch>> FindKnownBranch(PassState& pass, const Op& op);

// Resolves the subgraphs of If, Loop, Scan (others: takes stated types), puts them into the op instead of the old ones
// with the captures that they still read. Adds warnings.
Result<ControlResults> ResolveControl(PassState& pass, Op& op);

}  // namespace sbp
