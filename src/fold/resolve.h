// Resolve: binds symbolic dimensions, folds shape arithmetic to constants, and infers every shape, until each tensor of
// the graph is concrete.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "fold/resolve_options.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

struct Resolved {
  Graph graph;
  std::vector<std::string>
      warnings;  // bounds taken for data-dependent shapes, subgraphs kept whole, ops without a rule
};

// Every tensor of the result has a static type; ops whose results are all known small constants are gone (their values
// are parameters with literals); ops that feed no output are gone; If on a known condition is replaced by its branch.
// Data-dependent sizes are taken at their upper bound, which a warning states. Never materialises a constant larger
// than kMaxLiteralElements. Errors (kBadInput): unbound symbols (all of them, each with the tensors that use it and the
// flag to give), a binding that contradicts another or a file's number, an unknown binding name (with the nearest),
// shapes that do not fit (with the op), an overload mismatch.
Result<Resolved> Resolve(Graph graph, const RuleSet& rules, const ResolveOptions& options);

}  // namespace sbp
