// The last step of --decompose.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Composite ops expanded into primitives, common ones shared, but for those behind an op whose sizes only running
// decides (NonZero, ...): their expansions would state sizes that are not known.
Result<Graph> LowerGraph(const Graph& graph, const RuleSet& rules);

}  // namespace sbp
