#include "grad/lower.h"

#include <algorithm>
#include <array>
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
#include "rule/rule_set.h"

namespace sbp {
namespace {

constexpr std::array<std::string_view, 4> kOpen = {"Compress", "NonMaxSuppression", "NonZero", "Unique"};

}  // namespace

Result<Graph> LowerGraph(const Graph& graph, const RuleSet& rules) {
  std::vector<bool> open(graph.tensors.size(), false);
  std::unordered_set<std::string_view> stays;
  for (const Op& op : graph.ops) {
    const auto is_open = [&](TensorId id) { return id.valid() && open[id.index()]; };
    const bool opens = std::ranges::find(kOpen, graph.type_of(op)) != kOpen.end();
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
  ShareEqualOps(lowered);
  DropUnneeded(lowered);
  return lowered;
}

}  // namespace sbp
