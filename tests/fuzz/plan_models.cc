// What the program does with a model that was read.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "check/check.h"
#include "cluster/cluster.h"
#include "fold/dim_expression.h"
#include "fuzz/target.h"
#include "pipeline/pipeline.h"

namespace sbp::fuzz {
namespace {

constexpr size_t kMaxOpsToPlan = 40;
constexpr size_t kMaxRankToPlan = 6;
constexpr int64_t kSmallSize = 4;

// A size for every symbol, and for dimensions without a name ("input[axis]").
std::map<std::string, int64_t> SmallSizes(const Graph& graph) {
  std::map<std::string, int64_t> sizes;
  for (const TensorId id : graph.inputs) {
    const Tensor& tensor = graph.tensor(id);
    for (size_t axis = 0; axis < tensor.type.shape.size(); ++axis) {
      if (tensor.type.shape[axis] != kUnknownDim) continue;
      const std::string text = axis < tensor.symbols.size() ? tensor.symbols[axis] : "";
      if (text.empty()) sizes[StrCat(tensor.name, "[", axis, "]")] = kSmallSize;
      for (const std::string& symbol : SymbolsOf(text)) sizes[symbol] = kSmallSize;
    }
  }
  return sizes;
}

bool SmallEnough(const Graph& graph) {
  return graph.ops.size() <= kMaxOpsToPlan && std::ranges::none_of(graph.tensors, [](const Tensor& tensor) {
           return tensor.type.shape.size() > kMaxRankToPlan;
         });
}

// Plans as `infer` does, and checks the plan as `check` does.
void PlanAndCheck(Resolved resolved) {
  PlanRequest request;
  request.graph = std::move(resolved.graph);
  request.warnings = std::move(resolved.warnings);
  request.mesh = ParseMesh("2,2").value();
  request.cluster = FindPreset("cpu").value();
  request.rules = &BuiltinRules();
  const Result<Plan> plan = MakePlan(std::move(request));
  if (!plan.ok()) return RequireRefusal(plan.status());
  for (const Violation& v : CheckPlan(*plan, BuiltinRules())) {
    Require(false, StrCat(v.where, ": ", v.what, "; expected ", v.expected, ", found ", v.found));
  }
}

}  // namespace

const RuleSet& BuiltinRules() {
  static const RuleSet rules = [] {
    Result<RuleSet> builtin = RuleSet::Builtin();
    Require(builtin.ok(), builtin.status().message());
    return std::move(builtin).value();
  }();
  return rules;
}

void ResolveAndPlan(const Graph& graph) {
  Result<Resolved> resolved = Resolve(graph, BuiltinRules(), {.bindings = SmallSizes(graph)});
  if (!resolved.ok()) return RequireRefusal(resolved.status());
  const Status verified = Verify(resolved->graph, "resolved");
  Require(verified.ok(), verified.message());
  for (const Tensor& tensor : resolved->graph.tensors) {
    Require(tensor.type.kind != ValueKind::kTensor || tensor.type.is_static(), tensor.name + " has an open type");
  }
  if (SmallEnough(resolved->graph)) PlanAndCheck(std::move(*resolved));
}

}  // namespace sbp::fuzz
