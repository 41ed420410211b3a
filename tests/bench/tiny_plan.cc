#include "tiny_plan.h"

#include "base/text.h"
#include "cluster/presets.h"
#include "graph/builder.h"

namespace sbp {

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
  PlanRequest request;
  request.graph = *builder.Build("chain");
  request.mesh = *ParseMesh(mesh);
  request.cluster = *FindPreset("8xH100");
  request.rules = &rules;
  return *MakePlan(std::move(request));
}

}  // namespace sbp
