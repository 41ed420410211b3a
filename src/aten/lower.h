// ATen's ops of a graph (torch/reader.h) in terms of ours, by the rows of a table.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Does the graph have ops that are to be lowered?
bool HasAtenOps(const Graph& graph);

// A size that an attribute has as an expression over symbols.
using SizeOf = std::function<Result<int64_t>(std::string_view expression)>;

// `graph` (types of results are stated, and static but where data decide) without ATen's ops. A row of the user's rules
// comes before ours; an op of theirs that has a rule and no expansion stays, its operands in the order of its schema.
// Names of ops and tensors, scopes and metadata stay where one op takes an op's place, and begin the names of several.
// Errors (kBadInput): all ops that have no row, with counts and the way to write one; an argument that the row does not
// have; a result whose size only running decides.
Result<Graph> LowerAten(Graph graph, const RuleSet& rules, const SizeOf& size_of);

}  // namespace sbp
