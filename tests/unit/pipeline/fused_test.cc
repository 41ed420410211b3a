// Prices of fused execution, over graphs of all kinds and strategies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "base/dtype.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "generate/generate.h"
#include "graph/builder.h"
#include "pipeline/pipeline.h"
#include "schedule/schedule.h"

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

// No more than eager ones of the same decisions, and no less than the bounds, whatever made the plan.
TEST(FusedPrices, LieBetweenBoundsAndEagerOnes) {
  constexpr double kRounding = 1 + 1e-9;
  for (const char* family : {"transformer", "mlp", "random"}) {
    for (const char* mesh : {"4", "a=2,b=2"}) {
      for (const char* strategy : {"greedy", "einsum", "replicate", "optimal"}) {
        for (uint64_t seed = 0; seed < 3; ++seed) {
          SCOPED_TRACE(StrCat(family, " on ", mesh, ", ", strategy, ", seed ", seed));
          const Plan plan = MakePlanOf(family, mesh, strategy, seed, seed % 2 == 1);
          EXPECT_LE(plan.total.compute_seconds, EagerComputeSeconds(plan) * kRounding);
          ASSERT_TRUE(plan.has_bound);
          EXPECT_LE(plan.lower_bound_seconds, plan.total.seconds() * kRounding);
          EXPECT_GT(plan.lower_bound_seconds, 0);
          ASSERT_TRUE(plan.schedule_bound_seconds.has_value());
          EXPECT_LE(*plan.schedule_bound_seconds, MakeSchedule(plan).summary.step * kRounding);
          EXPECT_GT(*plan.schedule_bound_seconds, 0);
        }
      }
    }
  }
}

// Products of f32 run on vector units, where attention kernels' rates are no measure; heads and masks are of all sizes.
TEST(FusedPrices, AttentionIsNoDearerThanItsParts) {
  for (const char* preset : {"8xA100-80G", "8xH100", "8xH200", "8xB200", "72xGB200"}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (const int64_t head : {32, 64, 128, 256}) {
        for (const int64_t length : {128, 1024, 8192}) {
          SCOPED_TRACE(StrCat(preset, " ", DTypeName(dtype), ", heads of ", head, ", ", length));
          GraphBuilder builder("attention");
          const TensorType rows{dtype, {2, 8, length, head}}, columns{dtype, {2, 8, head, length}};
          const TensorType scores{dtype, {2, 8, length, length}}, mask{dtype, {length, length}};
          builder.AddInput("q", rows);
          builder.AddInput("k", columns);
          builder.AddInput("v", rows);
          builder.AddInput("mask", mask);
          builder.AddOp("MatMul", "scores", {"q", "k"}, {"s"});
          builder.AddOp("Add", "masked", {"s", "mask"}, {"m"});
          builder.AddOp("Softmax", "softmax", {"m"}, {"p"});
          builder.AddOp("MatMul", "context", {"p", "v"}, {"y"});
          for (const char* name : {"s", "m", "p"}) builder.DescribeTensor(name, scores);
          builder.DescribeTensor("y", rows);
          builder.AddOutput("y");
          PlanRequest request;
          request.graph = *builder.Build("test");
          request.graph.opsets[""] = 21;
          request.mesh = *ParseMesh("1");
          request.cluster = *FindPreset(preset);
          request.cluster.execution = Execution::kFused;
          request.options.simplify = false;
          request.rules = &Rules();
          const Result<Plan> plan = MakePlan(std::move(request));
          ASSERT_TRUE(plan.ok()) << plan.status().message();
          EXPECT_TRUE(std::ranges::any_of(plan->kernels.groups,
                                          [](const KernelGroup& g) { return g.kind == GroupKind::kAttention; }));
          EXPECT_LE(plan->total.compute_seconds, EagerComputeSeconds(*plan) * (1 + 1e-9));
        }
      }
    }
  }
}

// Relu, then a transposition without a kernel, then Gelu, which lies otherwise: what is boxed lies where Relu wrote it.
TEST(FusedPrices, WhatIsBoxedBehindAMoveIsInMemory) {
  GraphBuilder builder("move");
  const TensorType type{DType::kF32, {256, 256}};
  builder.AddInput("x", type);
  builder.AddOp("Relu", "relu", {"x"}, {"a"});
  Attributes turned;
  turned.Set("perm", std::vector<int64_t>{1, 0});
  builder.AddOp("Transpose", "turn", {"a"}, {"v"}, turned);
  builder.AddOp("Gelu", "gelu", {"v"}, {"y"});
  for (const char* name : {"a", "v", "y"}) builder.DescribeTensor(name, type);
  builder.AddOutput("y");
  PlanRequest request;
  request.graph = *builder.Build("test");
  request.graph.opsets[""] = 21;
  request.mesh = *ParseMesh("4");
  request.cluster = *FindPreset("8xH100");
  request.options.strategy = "greedy";
  request.options.outputs = OutputPolicy::kAny;
  request.pins = {{"x=S(1)", "test"},
                  {"relu: (S(1)) -> (S(1))", "test"},
                  {"turn: (S(1)) -> (S(0))", "test"},
                  {"gelu: (S(1)) -> (S(1))", "test"}};
  request.rules = &Rules();
  const Result<Plan> plan = MakePlan(std::move(request));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->transitions.size(), 1u);
  EXPECT_TRUE(plan->kernels.runs_no_kernel(OpId(1)));
  EXPECT_EQ(plan->memory.activation_bytes, 2 * 256 * 256 * 4 / 4);  // x and what Relu wrote, while it is boxed
}

TEST(FusedPrices, EagerPlansHaveNoGroups) {
  const Plan plan = MakePlanOf("transformer", "4", "greedy", 0, false, Execution::kEager);
  EXPECT_TRUE(plan.kernels.empty());
  EXPECT_EQ(EagerComputeSeconds(plan), 0);
}

}  // namespace
}  // namespace sbp
