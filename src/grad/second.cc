#include "grad/second.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "grad/differentiate.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

std::vector<TensorId> Named(const Graph& graph, std::span<const std::string> names, const std::string& prefix) {
  const NameIndex index(graph);
  std::vector<TensorId> ids;
  for (const std::string& name : names) ids.push_back(index.tensor(prefix + name));
  return ids;
}

}  // namespace

Result<Graph> AddHessianProducts(Graph graph, std::span<const std::string> targets,
                                 std::span<const std::string> expanded, const RuleSet& rules) {
  // Before the graph is moved: arguments are evaluated in any order.
  const std::vector<TensorId> wanted = Named(graph, targets, ""), ends = Named(graph, targets, "grad/");
  SBP_ASSIGN_OR_RETURN(graph, ExpandForVjp(std::move(graph), wanted, ends, expanded, rules));
  const std::vector<TensorId> by = Named(graph, targets, ""), gradients = Named(graph, targets, "grad/");
  Appender appender(graph, rules);
  std::vector<Seed> seeds;
  for (size_t i = 0; i < targets.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const TensorId v, appender.AddInput(StrCat("v/", targets[i]), appender.type(gradients[i])));
    seeds.push_back({gradients[i], v});
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> products, Differentiate(appender, seeds, by));
  const uint32_t scope = appender.ScopeIndex("backward");
  for (size_t i = 0; i < targets.size(); ++i) {
    const std::string name = StrCat("hvp/", targets[i]);
    TensorId product = products[i];
    if (!product.valid()) {
      const TensorType type = appender.type(by[i]);
      SBP_ASSIGN_OR_RETURN(product, appender.Call("Expand", {appender.Number(0, type.dtype), appender.Ints(type.shape)},
                                                  {}, name, scope));
    } else {
      SBP_ASSIGN_OR_RETURN(product, appender.Call("Identity", {product}, {}, name, scope));
    }
    graph.outputs.push_back(product);
  }
  return graph;
}

}  // namespace sbp
