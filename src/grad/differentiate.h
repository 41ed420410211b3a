// Reverse differentiation of a graph: ops that compute cotangents are added behind the forward ones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// The ops between `targets` and `seeds` that have no vjp of their own in the form in which they stand there, expanded
// until all have one; so are those of the types `expanded` ("*": all; "!OP": not that one) that have an expansion. Ids
// of tensors change; names of those that are outputs or parameters stay.
Result<Graph> ExpandForVjp(Graph graph, std::span<const TensorId> targets, std::span<const TensorId> seeds,
                           std::span<const std::string> expanded, const RuleSet& rules);

// Is an op of this type, with a body or of sequences, differentiated in code?
bool HasBuiltinVjp(std::string_view type);

struct WithoutVjp {
  OpId op;
  std::string why;
};
// The ops between targets and seeds that have no vjp in the form in which they stand there.
std::vector<WithoutVjp> FindWithoutVjp(Graph graph, std::span<const TensorId> targets, std::span<const TensorId> seeds,
                                       const RuleSet& rules);

// The cotangent of each target: invalid where none reaches it. Float tensors only. Every op between them must have a
// vjp. Scopes of new ops are "backward/" and the forward op's; names are "d/T" for the cotangent of T,
// "backward/OP/..." for what leads there. Linear in the graph: equal ops share one vjp. Errors name the op.
Result<std::vector<TensorId>> Differentiate(Appender& appender, std::span<const Seed> seeds,
                                            std::span<const TensorId> targets);

}  // namespace sbp
