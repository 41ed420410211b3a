#include "check/subgraphs.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"

namespace sbp {
namespace {

constexpr size_t kMostDepthOfBodies = 100;
// Of other ops with subgraphs only their own runtime knows what goes in and out.
constexpr std::string_view kControlFlow[] = {"If", "Loop", "Scan", "SequenceMap"};

struct Nested {
  const Graph* graph;
  std::string where;  // "": the plan's own graph
  size_t depth;
};

// A subgraph takes the op's inputs, or nothing, and then its share of the captures; it gives what the op gives, and
// maybe a condition and more.
void CheckSubgraphsOf(const Nested& around, OpId id, std::vector<Nested>& left, Findings& findings) {
  const Op& op = around.graph->op(id);
  std::vector<std::pair<std::string, const Graph*>> graphs;
  for (const auto& [name, value] : op.attributes->entries()) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&value);
    if (graph != nullptr && *graph != nullptr) graphs.emplace_back(name, graph->get());
  }
  if (graphs.empty()) return;
  const std::string where = StrCat(around.where, PlaceOf(*around.graph, id));
  const bool known = std::ranges::find(kControlFlow, around.graph->type_of(op)) != std::end(kControlFlow);
  size_t inputs = 0;
  for (const auto& [name, graph] : graphs) {
    inputs += graph->inputs.size();
    if (known && graph->outputs.size() < op.outputs.size()) {
      findings.Add(StrCat(where, ", ", name), "lacks outputs", StrCat("at least ", op.outputs.size()),
                   StrCat(graph->outputs.size()));
    }
    left.push_back({graph, StrCat(where, ", ", name, ", "), around.depth + 1});
  }
  const size_t all = op.captures.size();
  const size_t with_inputs = all + op.inputs.size() * graphs.size();
  bool fits = inputs == all || inputs == with_inputs;
  for (const auto& [name, graph] : graphs) fits = fits && (inputs == all || graph->inputs.size() >= op.inputs.size());
  if (fits || !known) return;
  findings.Add(where, "inputs of its subgraphs do not fit its operands and captures", StrCat(all, " or ", with_inputs),
               StrCat(inputs));
}

}  // namespace

void CheckSubgraphs(const Graph& graph, Findings& findings) {
  std::vector<Nested> left = {{&graph, "", 0}};
  while (!left.empty()) {
    const Nested now = std::move(left.back());
    left.pop_back();
    if (now.depth > kMostDepthOfBodies) {
      findings.Add(now.where, "subgraphs nest too deeply", StrCat("at most ", kMostDepthOfBodies), "more");
      return;
    }
    for (size_t o = 0; o < now.graph->ops.size(); ++o) CheckSubgraphsOf(now, OpId(o), left, findings);
  }
}

}  // namespace sbp
