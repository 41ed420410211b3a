// The question to put to the rules about an op of a graph.
#pragma once

#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Values only where the rule reads them, so that equal ops get equal questions. Points into `graph`.
OpQuery QueryFor(const Graph& graph, const RuleSet& rules, const Op& op);

}  // namespace sbp
