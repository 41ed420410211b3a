// Orders in which what is read late waits: legal, shorter in earnest, and no more than memory holds.
#include "pipeline/op_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "graph/builder.h"
#include "graph/reorder.h"
#include "pipeline/late_reads.h"
#include "pipeline/pipeline.h"
#include "plan/reorder.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

constexpr int kLayers = 6;

// Per layer: a product that nobody reads, as a gradient of a weight, then one that is reduced for the next layer.
class OpOrderTest : public testing::Test {
 protected:
  PlanRequest Request(const char* order = "shortest") const {
    const TensorType square = {DType::kF32, {2048, 2048}};
    GraphBuilder b("layers");
    b.AddInput("h0", square);
    b.AddInput("v", square);
    PlanRequest request;
    for (int i = 0; i < kLayers; ++i) {
      b.AddParameter(StrCat("w", i), square);
      b.AddOp("MatMul", StrCat("late", i), {"v", StrCat("h", i)}, {StrCat("s", i)});
      b.AddOp("MatMul", StrCat("next", i), {StrCat("h", i), StrCat("w", i)}, {StrCat("p", i)});
      b.AddOp("Relu", StrCat("act", i), {StrCat("p", i)}, {StrCat("h", i + 1)});
      b.DescribeTensor(StrCat("s", i), square);
      b.DescribeTensor(StrCat("p", i), square);
      b.DescribeTensor(StrCat("h", i + 1), square);
      b.AddOutput(StrCat("s", i));
      request.pins.emplace_back(StrCat("p", i, "<-P"), "test");
      request.pins.emplace_back(StrCat("h", i + 1, "<-B"), "test");
    }
    b.AddOutput(StrCat("h", kLayers));
    request.graph = *b.Build("layers");
    request.mesh = *ParseMesh("4");
    request.cluster = *FindPreset("8xH100");
    request.options.strategy = "optimal";
    request.strategy.values["op-order"] = std::string(order);
    request.rules = &rules_;
    return request;
  }
  Plan Planned(const char* order) const {
    Result<Plan> plan = MakePlan(Request(order));
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return *std::move(plan);
  }
  static double StepOf(const Plan& plan) { return MakeSchedule(plan).summary.step; }

  RuleSet rules_ = *RuleSet::Builtin();
};

TEST_F(OpOrderTest, ProductsReadLateHideCollectives) {
  const Plan given = Planned("given");
  const Plan shortest = Planned("shortest");
  EXPECT_LT(StepOf(shortest), 0.98 * StepOf(given));
  EXPECT_EQ(shortest.total.seconds(), given.total.seconds());
  EXPECT_TRUE(shortest.options.reorders);
  EXPECT_FALSE(given.options.reorders);
  EXPECT_TRUE(Verify(shortest.graph, "shortest").ok());
  const NameIndex names(shortest.graph);
  EXPECT_LT(names.op("next1"), names.op("late1"));
  // What is bounded is this order: a bound of the other one could lie above the step.
  ASSERT_TRUE(shortest.schedule_bound_seconds.has_value());
  EXPECT_LE(*shortest.schedule_bound_seconds, StepOf(shortest) * (1 + 1e-9));
}

// The plan that is merely put into another order is what the evaluator makes of the same choices there.
TEST_F(OpOrderTest, ReorderedPlansAreThoseOfTheReorderedGraph) {
  const Plan given = Planned("given");
  const Result<Problem> problem = RebuildProblem(given, rules_);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  for (const size_t most : {1, 2, 4}) {
    const std::vector<OpId> order = OrderWithLateReads(*problem, given, most);
    const Plan moved = Reordered(given, order);
    EXPECT_TRUE(Verify(moved.graph, "moved").ok());
    PlanRequest request = Request("given");
    Reorder(order, request.graph);
    request.strategy.values["effort"] = 0.0;
    const Result<Plan> anew = MakePlan(std::move(request));
    ASSERT_TRUE(anew.ok()) << anew.status().message();
    EXPECT_NEAR(StepOf(moved), StepOf(*anew), 1e-9 * StepOf(*anew));
    for (size_t o = 0; o < moved.graph.ops.size(); ++o) {
      EXPECT_EQ(moved.graph.ops[o].name, anew->graph.ops[o].name);
      EXPECT_EQ(moved.decision(OpId(o)).signature, anew->decision(OpId(o)).signature) << moved.graph.ops[o].name;
    }
  }
}

// A device of no more memory than the given order takes: what waits would hold more than that.
TEST_F(OpOrderTest, WithoutALimitTheDeviceIsOne) {
  const int64_t peak = Planned("given").memory.peak_bytes;
  PlanRequest request = Request();
  request.cluster.device.memory_bytes.value = static_cast<double>(peak);
  int plans = 0;
  const PlanInOrder plan_in_order = [&](PlanRequest asked, const StageObserver& observer) {
    asked.strategy.values["op-order"] = std::string("given");
    Result<Plan> plan = MakePlan(std::move(asked), observer);
    if (plan.ok() && plans++ > 0) plan->memory.peak_bytes = peak + 1;
    return plan;
  };
  const Result<Plan> plan = PlanInShorterOrder(std::move(request), plan_in_order, RebuildProblem, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plans, 2);
  EXPECT_EQ(plan->memory.peak_bytes, peak);
}

TEST_F(OpOrderTest, AnInterruptedSearchKeepsTheGivenOrder) {
  int plans = 0;
  const PlanInOrder plan_in_order = [&](PlanRequest asked, const StageObserver&) {
    ++plans;
    asked.strategy.values["op-order"] = std::string("given");
    return MakePlan(std::move(asked));
  };
  const Result<Plan> plan =
      PlanInShorterOrder(Request(), plan_in_order, RebuildProblem, {.cancelled = [] { return true; }});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plans, 1);
  EXPECT_EQ(plan->graph.ops[0].name, "late0");
}

}  // namespace
}  // namespace sbp
