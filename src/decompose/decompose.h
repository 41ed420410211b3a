// Expansion of composite ops into primitives. An expansion is text beside the op's rule (`expand` in rules/*.rules), or
// a function where text cannot say it (all_expansions.cc).
//
// It is of the whole, unsharded op: sizes and positions in it are those of the whole tensors. The runtime gives each
// inner tensor the layout that follows from the op's signature (see runtime/execute/local_program.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// One level of expansion. The graph is resolved (every tensor has its concrete type): its inputs are the op's present
// operands in their order, named like the schema's parameters (variadic ones numbered); its outputs are the wanted
// results in their order, of the types that the rule infers; constants are parameters with literals. Its ops may
// themselves be composite. An output may be an input itself.
// Errors: the op has no expansion; values that the expansion reads are not known.
Result<Graph> ExpandOp(const OpQuery& query, const RuleSet& rules);

// Is there an expansion (text or code) for some form of the op?
bool HasExpansion(std::string_view op_type, const RuleSet& rules);

// How much one op may expand to: statements run and turns of loops of one expansion; ops, whole expansions counted as
// one more, of an op of a graph until nothing in it is left to expand. A user's text is hostile until shown otherwise;
// what comes with us is not, and unrolls long sequences.
inline constexpr int64_t kUserExpansion = int64_t{1} << 16;
inline constexpr int64_t kBuiltinExpansion = int64_t{1} << 20;
int64_t ExpansionBudgetOf(std::string_view op_type, const RuleSet& rules);

// The error (kBadInput) for an expansion that goes on too long: "file:line:col: the expansion of NAME ...", what it
// does.
Status ExpansionTooLarge(std::string_view op_type, const RuleSet& rules, std::string_view what);

struct DecomposeOptions {
  std::vector<std::string> only;  // op types; empty: every op that is no primitive and has an expansion
  // Where given, in place of `only`: which of the ops that have an expansion; depth 0 is the graph's own.
  std::function<bool(const Graph& graph, const Op& op, int depth)> chosen = nullptr;
  // Where given, what takes the place of a chosen op, in place of what the rules say; as ExpandOp's. Its ops have the
  // op's metadata, and its name where there is only one.
  std::function<Result<Graph>(const OpQuery& query, const Op& op)> expansion = nullptr;
};
// `graph` (resolved) with each chosen op expanded, again and again until nothing chosen is left; so are the bodies of
// If, Loop and Scan. An op whose axes or sizes only running decides stays. Names of inner ops and tensors start with
// the name of the op they came from; pins of an expanded op are dropped. Errors name the op.
Result<Graph> Decompose(const Graph& graph, const RuleSet& rules, const DecomposeOptions& options = {});

}  // namespace sbp
