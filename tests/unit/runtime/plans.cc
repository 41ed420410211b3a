#include "unit/runtime/plans.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cluster/presets.h"
#include "generate/generate.h"
#include "pipeline/pipeline.h"

namespace sbp {

std::string PlanCase::name() const { return StrCat(family, " ", seed, " on ", mesh, " by ", strategy); }

std::vector<PlanCase> PlanCases() {
  std::vector<PlanCase> cases;
  for (const char* mesh : {"2", "3", "2,2"}) {
    for (const char* strategy : {"greedy", "einsum", "replicate"}) {
      cases.push_back({"transformer", 12, 0, mesh, strategy});
      cases.push_back({"mlp", 16, 0, mesh, strategy});
      for (uint64_t seed = 0; seed < 4; ++seed) cases.push_back({"random", 24, seed, mesh, strategy});
    }
  }
  return cases;
}

Plan MakeTestPlan(const PlanCase& c) {
  static const RuleSet rules = RuleSet::Builtin().value();
  PlanRequest request;
  request.graph = GenerateGraph(c.family, {.ops = c.ops, .seed = c.seed}).value();
  request.mesh = ParseMesh(c.mesh).value();
  request.cluster = FindPreset("8xH100").value();
  request.options.strategy = c.strategy;
  request.options.criterion = "time";
  request.rules = &rules;
  Result<Plan> plan = MakePlan(std::move(request));
  if (plan.ok()) return std::move(plan).value();
  ADD_FAILURE() << c.name() << ": " << plan.status().message();
  return {};
}

}  // namespace sbp
