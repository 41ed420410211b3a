// Prices of fused execution, over graphs of all kinds and strategies.
#include <gtest/gtest.h>

#include "base/text.h"
#include "cluster/cluster.h"
#include "generate/generate.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

const RuleSet& Rules() {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  return *rules;
}

Plan MakePlanOf(const char* family, const char* mesh, const char* strategy, uint64_t seed, bool epilogue,
                Execution execution = Execution::kFused) {
  PlanRequest request;
  request.graph = *GenerateGraph(family, {.ops = 60, .seed = seed});
  request.mesh = *ParseMesh(mesh);
  request.cluster = *FindPreset("8xH100");
  request.cluster.execution = execution;
  request.cluster.device.epilogue = epilogue;
  request.options.strategy = strategy;
  request.rules = &Rules();
  return *MakePlan(std::move(request));
}

// The same decisions with each op a kernel of its own.
double EagerComputeSeconds(const Plan& plan) {
  double seconds = 0;
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) seconds += plan.decision(OpId(o)).alone_seconds;
  return seconds;
}

TEST(FusedPrices, AreNeverAboveEagerOnesOfTheSameDecisions) {
  for (const char* family : {"transformer", "mlp", "random"}) {
    for (const char* mesh : {"4", "a=2,b=2"}) {
      for (const char* strategy : {"greedy", "einsum", "replicate", "optimal"}) {
        for (uint64_t seed = 0; seed < 6; ++seed) {
          const Plan plan = MakePlanOf(family, mesh, strategy, seed, seed % 2 == 1);
          const double eager = EagerComputeSeconds(plan);
          EXPECT_LE(plan.total.compute_seconds, eager * (1 + 1e-9))
              << family << " on " << mesh << ", " << strategy << ", seed " << seed;
        }
      }
    }
  }
}

TEST(FusedPrices, BoundsHoldForEveryStrategy) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (const char* strategy : {"greedy", "einsum", "replicate"}) {
      const Plan plan = MakePlanOf("random", "a=2,b=2", strategy, seed, false);
      ASSERT_TRUE(plan.has_bound);
      EXPECT_LE(plan.lower_bound_seconds, plan.total.seconds() * (1 + 1e-9)) << strategy << ", seed " << seed;
      EXPECT_GT(plan.lower_bound_seconds, 0);
    }
  }
}

TEST(FusedPrices, EagerPlansHaveNoGroups) {
  const Plan plan = MakePlanOf("transformer", "4", "greedy", 0, false, Execution::kEager);
  EXPECT_TRUE(plan.kernels.empty());
  EXPECT_EQ(EagerComputeSeconds(plan), 0);
}

}  // namespace
}  // namespace sbp
