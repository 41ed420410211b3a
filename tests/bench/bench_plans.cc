#include "bench_plans.h"

#include "base/text.h"
#include "cluster/presets.h"
#include "decompose/decompose.h"
#include "graph/builder.h"

namespace sbp {
namespace {

Plan MakeBenchPlan(const RuleSet& rules, std::string_view mesh, Graph graph) {
  PlanRequest request;
  request.graph = std::move(graph);
  request.mesh = *ParseMesh(mesh);
  request.cluster = *FindPreset("8xH100");
  request.rules = &rules;
  return *MakePlan(std::move(request));
}

}  // namespace

Plan TinyPlan(const RuleSet& rules, std::string_view mesh, int ops, std::string_view op) {
  GraphBuilder builder("chain");
  const TensorType type{DType::kF32, {8}};
  builder.AddInput("t0", type);
  for (int i = 0; i < ops; ++i) {
    const std::string to = StrCat("t", i + 1);
    builder.AddOp(std::string(op), StrCat("op", i), {StrCat("t", i)}, {to});
    builder.DescribeTensor(to, type);
  }
  builder.AddOutput(StrCat("t", ops));
  return MakeBenchPlan(rules, mesh, *builder.Build("chain"));
}

Plan AttentionPlan(const RuleSet& rules, DType dtype, int64_t positions, bool expanded) {
  GraphBuilder builder("attention");
  const TensorType type{dtype, {1, 16, positions, 128}};
  const std::vector<std::string> operands{"q", "k", "v"};
  for (const std::string& operand : operands) builder.AddInput(operand, type);
  Attributes causal;
  causal.Set("is_causal", int64_t{1});
  builder.AddOp("Attention", "attention", operands, {"y"}, std::move(causal));
  builder.DescribeTensor("y", type);
  builder.AddOutput("y");
  Graph graph = *builder.Build("attention");
  if (expanded) graph = *Decompose(graph, rules);
  return MakeBenchPlan(rules, "1", std::move(graph));
}

}  // namespace sbp
