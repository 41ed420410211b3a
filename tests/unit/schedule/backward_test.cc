// What the backward pass makes of the forward pass alone keeps its place in the schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/again.h"
#include "graph/builder.h"
#include "memory/memory.h"
#include "pipeline/pipeline.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

constexpr int kLayers = 4;

// Products x -> x w, each with its weight in rows: every layer ends with an all-reduce, beside which nothing else of
// the forward pass can be computed. The backward pass runs the layers again, last one first, from the layers' inputs,
// and multiplies what they give with the cotangent.
Plan StepThatComputesAgain() {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  GraphBuilder builder("step");
  const TensorType type = *ParseTensorType("bf16[8192,8192]");
  PlanRequest request;
  builder.AddInput("t0", type);
  builder.AddParameter("w", type);
  const auto add = [&](const std::string& op, const std::string& made, std::vector<std::string> from,
                       const std::string& scope) {
    builder.DescribeTensor(made, type);
    builder.AddOp(op, made, std::move(from), {made}, {}, scope);
  };
  for (int i = 0; i < kLayers; ++i) {
    add("MatMul", StrCat("t", i + 1), {StrCat("t", i), "w"}, "");
    request.pins.push_back({StrCat("t", i + 1, ": S(1), S(0) -> P(sum)"), "test"});
    request.pins.push_back({StrCat("t", i + 1, "=B"), "test"});
  }
  std::string cotangent = StrCat("t", kLayers);
  for (int i = kLayers; i-- > 0;) {
    const std::string again = StrCat(kAgain, "t", i + 1), gradient = StrCat("d", i);
    add("MatMul", again, {StrCat("t", i), "w"}, std::string(kAgainScope));
    request.pins.push_back({StrCat(again, ": S(1), S(0) -> P(sum)"), "test"});
    add("Mul", gradient, {cotangent, again}, "backward");
    request.pins.push_back({StrCat(gradient, "=B"), "test"});
    cotangent = gradient;
  }
  builder.AddOutput(cotangent);
  request.graph = *builder.Build("test");
  request.graph.opsets[""] = 21;
  request.mesh = *ParseMesh("4");
  request.cluster = *FindPreset("8xH100");
  request.options.strategy = "greedy";
  request.rules = rules;
  Result<Plan> plan = MakePlan(std::move(request));
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

TEST(ScheduleOfBackward, NothingIsComputedAgainInTheForwardPass) {
  const Plan plan = StepThatComputesAgain();
  const Schedule schedule = MakeSchedule(plan);
  double forward_end = 0;
  int reduced = 0;
  for (const TaskTime& time : schedule.ops) {
    const auto o = static_cast<size_t>(&time - schedule.ops.data());
    if (o < kLayers) forward_end = std::max(forward_end, time.end);
    if (o >= kLayers && plan.graph.ops[o].name.starts_with(kAgain)) {
      EXPECT_GE(time.start, forward_end) << plan.graph.ops[o].name;
      EXPECT_GE(time.start, schedule.ops[o - 1].end) << plan.graph.ops[o].name;
    }
  }
  // So nothing hides the all-reduces of the forward pass.
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    const bool is_sum = !transition.steps.empty() && transition.steps[0].kind == CollectiveKind::kAllReduce;
    if (!is_sum || schedule.transitions[i].back().end > forward_end) continue;
    ++reduced;
    EXPECT_NEAR(schedule.exposed[i], transition.seconds, 1e-9 * transition.seconds) << i;
  }
  EXPECT_EQ(reduced, kLayers - 1);
}

}  // namespace
}  // namespace sbp
