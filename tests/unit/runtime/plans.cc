#include "unit/runtime/plans.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "cluster/presets.h"
#include "generate/generate.h"
#include "pipeline/pipeline.h"

namespace sbp {

std::string PlanCase::name() const { return StrCat(family, " ", seed, " on ", mesh, " by ", strategy); }

std::vector<PlanCase> PlanCases() {
  std::vector<PlanCase> cases;
  for (const char* mesh : {"2", "3", "2,2"}) {
    for (const char* strategy : {"greedy", "any"}) {
      cases.push_back({"transformer", 12, 0, mesh, strategy});
      cases.push_back({"mlp", 16, 0, mesh, strategy});
      for (uint64_t seed = 0; seed < 4; ++seed) cases.push_back({"random", 24, seed, mesh, strategy});
    }
  }
  return cases;
}

namespace {

Result<Plan> Solve(const PlanCase& c, const RuleSet& rules) {
  PlanRequest request;
  SBP_ASSIGN_OR_RETURN(request.graph, GenerateGraph(c.family, {.ops = c.ops, .seed = c.seed}));
  SBP_ASSIGN_OR_RETURN(request.mesh, ParseMesh(c.mesh));
  SBP_ASSIGN_OR_RETURN(request.cluster, FindPreset("8xH100"));
  request.options.criterion = "time";
  request.rules = &rules;
  if (c.strategy != "any") {
    request.options.strategy = c.strategy;
    return MakePlan(std::move(request));
  }
  PlanRequest fixed = request;
  SBP_ASSIGN_OR_RETURN(const Plan greedy, MakePlan(std::move(request)));
  SBP_ASSIGN_OR_RETURN(const Problem problem, RebuildProblem(greedy, rules));
  std::mt19937 random(static_cast<uint32_t>(c.seed) + 17);
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const CandidateList& list = problem.candidates(OpId(o));
    fixed.strategy.given_signatures.push_back(list.candidates[random() % list.candidates.size()].signature);
  }
  fixed.options.strategy = "fixed";
  return MakePlan(std::move(fixed));
}

}  // namespace

Plan MakeTestPlan(const PlanCase& c) {
  static const RuleSet rules = RuleSet::Builtin().value();
  Result<Plan> plan = Solve(c, rules);
  if (plan.ok()) return std::move(plan).value();
  ADD_FAILURE() << c.name() << ": " << plan.status().message();
  return {};
}

}  // namespace sbp
