#include "pipeline/less_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cluster/cluster.h"
#include "graph/builder.h"
#include "pipeline/pipeline.h"
#include "schedule/measure.h"
#include "strategy/evaluate.h"

namespace sbp {
namespace {

constexpr int kWeights = 6;

// Six gradients of weights, each a sum over the devices, and then six updates of weights that are split.
std::unique_ptr<PosedProblem> Step(int64_t batch) {
  const TensorType weight{DType::kF32, {1024, 1024}}, rows{DType::kF32, {batch, 1024}},
      columns{DType::kF32, {1024, batch}};
  GraphBuilder builder("step");
  builder.AddInput("x", columns);
  builder.AddInput("z0", rows);
  PlanRequest request;
  for (int i = 0; i < kWeights; ++i) {
    builder.AddParameter(StrCat("w", i), weight);
    builder.DescribeTensor(StrCat("z", i + 1), rows);
    builder.DescribeTensor(StrCat("dw", i), weight);
    builder.DescribeTensor(StrCat("s", i), weight);
    builder.DescribeTensor(StrCat("new", i), weight);
    request.pins.emplace_back(StrCat("w", i, "=S(0)"), "test");
  }
  for (int i = 0; i < kWeights; ++i) {
    builder.AddOp("MatMul", StrCat("grad", i), {"x", StrCat("z", i)}, {StrCat("dw", i)});
    builder.AddOp("Relu", StrCat("relu", i), {StrCat("z", i)}, {StrCat("z", i + 1)});
  }
  for (int i = 0; i < kWeights; ++i) {
    builder.AddOp("Sign", StrCat("sign", i), {StrCat("dw", i)}, {StrCat("s", i)});
    builder.AddOp("Sub", StrCat("update", i), {StrCat("w", i), StrCat("s", i)}, {StrCat("new", i)});
    builder.AddOutput(StrCat("new", i));
  }
  builder.AddOutput(StrCat("z", kWeights));
  request.graph = *builder.Build("test");
  request.graph.opsets[""] = 21;
  request.mesh = *ParseMesh("4");
  request.cluster = *FindPreset("8xH100");
  request.pins.emplace_back("x=S(1)", "test");
  request.pins.emplace_back("z0=S(0)", "test");
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  request.rules = rules;
  return std::move(PoseProblem(std::move(request))).value();
}

struct Evaluated {
  Plan usual, less;
};
Evaluated EvaluateStep(int64_t batch) {
  const std::unique_ptr<PosedProblem> posed = Step(batch);
  const Assignment assignment = *(*FindStrategy("greedy"))->solve(posed->problem, {});
  Evaluated both{posed->plan, posed->plan};
  EXPECT_TRUE(Evaluate(posed->problem, assignment, both.usual, {.ahead = true}).ok());
  EXPECT_TRUE(EvaluateInLessMemory(posed->problem, assignment, both.less).ok());
  return both;
}

std::vector<OpId> StartsOfSums(const Plan& plan) {
  std::vector<OpId> starts;
  for (const Transition& transition : plan.transitions) {
    if (plan.graph.tensor(transition.tensor).name.starts_with("dw")) starts.push_back(transition.ahead_of);
  }
  return starts;
}

// While long products run all sums could wait for the last one at no cost, whole.
TEST(EvaluateInLessMemory, SumsOfGradientsStartAsSoonAsTheyCan) {
  constexpr int64_t kWhole = 1024 * 1024 * 4, kPart = kWhole / 4;
  const auto [usual, less] = EvaluateStep(65536);
  const std::vector<OpId> late = StartsOfSums(usual), early = StartsOfSums(less);
  ASSERT_EQ(late.size(), static_cast<size_t>(kWeights));
  ASSERT_EQ(early.size(), late.size());
  for (size_t i = 0; i < early.size(); ++i) {
    EXPECT_EQ(early[i], OpId(2 * i + 1));  // right behind the product
    EXPECT_GE(late[i], early[i]);
  }
  EXPECT_LE(less.memory.peak_bytes, usual.memory.peak_bytes - 3 * (kWhole - kPart));
  EXPECT_LE(StepSeconds(less, MeasureOf(less)), StepSeconds(usual, MeasureOf(usual)) * (1 + 1e-9));
}

// Where they are to be early for the step's sake there is nothing to gain.
TEST(EvaluateInLessMemory, IsTheUsualPlanElse) {
  const auto [usual, less] = EvaluateStep(64);
  EXPECT_EQ(StartsOfSums(less), StartsOfSums(usual));
  EXPECT_EQ(less.memory.peak_bytes, usual.memory.peak_bytes);
}

}  // namespace
}  // namespace sbp
