// The question to put to the rules about an op of a graph.
#pragma once

#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Values only where the rule reads them, so that equal ops get equal questions. Points into `graph`.
OpQuery QueryFor(const Graph& graph, const RuleSet& rules, const Op& op);

// With all values that are known, for expansions and derivatives, which compute with them. `operands`: in the place of
// the op's inputs, captures left aside. Whether there are subgraphs is not said.
OpQuery QueryWithValues(const Graph& graph, const Op& op, const std::vector<TensorId>& operands);

}  // namespace sbp
