#include "grad/lower.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "decompose/decompose.h"
#include "decompose/primitives.h"
#include "grad/drop.h"
#include "grad/share.h"
#include "graph/graph.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

// Does only running decide a size of its results?
bool OpensSizes(const Graph& graph, const RuleSet& rules, const Op& op) {
  const Result<RuleInstanceRef> instance = rules.Instantiate(QueryFor(graph, rules, op));
  return instance.ok() && (*instance)->bounded;
}

}  // namespace

Result<Graph> LowerGraph(const Graph& graph, const RuleSet& rules) {
  std::vector<bool> open(graph.tensors.size(), false);
  std::unordered_set<std::string_view> stays;
  for (const Op& op : graph.ops) {
    const auto is_open = [&](TensorId id) { return id.valid() && open[id.index()]; };
    const bool opens = OpensSizes(graph, rules, op);
    const bool behind = std::ranges::any_of(op.inputs, is_open) || std::ranges::any_of(op.captures, is_open);
    if (behind || opens) stays.insert(op.name);
    if (!behind && !opens) continue;
    for (const TensorId id : op.outputs) {
      if (id.valid()) open[id.index()] = true;
    }
  }
  DecomposeOptions options;
  options.chosen = [&](const Graph& now, const Op& op, int depth) {
    return FindPrimitive(now.type_of(op)) == nullptr && (depth > 0 || !stays.contains(op.name));
  };
  SBP_ASSIGN_OR_RETURN(Graph lowered, Decompose(graph, rules, options));
  ShareEqualOps(lowered, rules);
  DropUnneeded(lowered);
  return lowered;
}

}  // namespace sbp
