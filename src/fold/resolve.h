// Resolve: binds symbolic dimensions, folds shape arithmetic to constants, and infers every shape, until each tensor of
// the graph is concrete.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

struct ResolveOptions {
  std::map<std::string, int64_t> bindings;  // --dim NAME=N; NAME a symbol, an expression, or input[axis]
  std::vector<std::pair<std::string, Shape>> input_shapes;  // --inputs: the shapes of real inputs, by input name
  std::vector<std::pair<std::string, LiteralRef>>
      input_values;          // small inputs given with --inputs; those that shape the graph become its assumptions
  bool keep_ops = false;     // known values serve shapes alone: what can be computed is, when the graph runs
  bool strict = false;       // an op without a rule is an error
  bool simplify = false;     // write the graph in a form that layouts pass (simplify/simplify.h)
  bool allow_empty = false;  // a model of which nothing comes out because nothing goes in is no mistake
};

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

// Integer expressions over symbols, "past_seq + 1", "2*(a - 1)", "floor(h/2)": evaluates when all symbols are bound.
Result<int64_t> EvaluateDim(std::string_view expression, const std::map<std::string, int64_t>& bindings);
std::vector<std::string> SymbolsOf(std::string_view expression);

}  // namespace sbp
