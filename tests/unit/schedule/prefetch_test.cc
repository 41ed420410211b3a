// Boxing sent ahead: memory, order and schedule of plans of all kinds.
#include "memory/prefetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/builder.h"
#include "memory/memory.h"
#include "physical/physical.h"
#include "pipeline/pipeline.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"
#include "schedule/schedule.h"
#include "unit/runtime/plans.h"

namespace sbp {
namespace {

int64_t PeakOf(const Plan& plan) {
  const StepOrder order = OrderOfStep(plan);
  return PeakMemory(plan, order, Lifetimes(plan, order)).peak_bytes;
}

Plan WithoutAhead(Plan plan) {
  for (Transition& transition : plan.transitions) transition.ahead_of = OpId();
  return plan;
}

// Where each transition may begin and must: behind its producer, before its first reader.
void ExpectSound(const Plan& plan) {
  for (const Transition& transition : plan.transitions) {
    if (!transition.ahead_of.valid()) continue;
    const OpId producer = plan.graph.tensor(transition.tensor).producer;
    if (producer.valid()) {
      EXPECT_GT(transition.ahead_of.value, producer.value);
    }
    for (const Use& use : transition.consumers) EXPECT_LT(transition.ahead_of.value, use.op.value);
    EXPECT_EQ(transition.from, plan.source_layouts[transition.tensor.index()]);
  }
}

TEST(SendAhead, StaysWithinTheRoom) {
  int ahead = 0, at_some_room = 0;
  for (const PlanCase& c : PlanCases()) {
    SCOPED_TRACE(c.name());
    const Plan before = WithoutAhead(MakeTestPlan(c));
    const int64_t least = PeakOf(before);
    int last = 0;
    for (const int64_t room : {int64_t{0}, least, least + 512, 2 * least, int64_t{1} << 50}) {
      Plan plan = before;
      for (DecisionRecord& record : plan.records) record.compute_seconds = 1e-5;
      SendAhead(plan, room);
      ExpectSound(plan);
      EXPECT_LE(PeakOf(plan), std::max(least, room)) << "room " << room;
      const auto count = static_cast<int>(
          std::ranges::count_if(plan.transitions, [](const Transition& t) { return t.ahead_of.valid(); }));
      at_some_room += count > 0 && room < (int64_t{1} << 50);
      last = count;
    }
    ahead += last > 0;
  }
  EXPECT_GT(ahead, 5);
  EXPECT_GT(at_some_room, 5);
}

// A stack of products whose weights are gathered: x w0 w1 ..., over 4 devices.
Plan GatheredStack(int layers, std::optional<int64_t> prefetch) {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  GraphBuilder builder("stack");
  builder.AddInput("t0", *ParseTensorType("bf16[32768,2048]"));
  PlanRequest request;
  for (int i = 0; i < layers; ++i) {
    builder.AddParameter(StrCat("w", i), *ParseTensorType("bf16[2048,2048]"));
    builder.DescribeTensor(StrCat("t", i + 1), *ParseTensorType("bf16[32768,2048]"));
    builder.AddOp("MatMul", StrCat("fc", i), {StrCat("t", i), StrCat("w", i)}, {StrCat("t", i + 1)});
    request.pins.push_back({StrCat("w", i, "=S(0)"), "test"});
    request.pins.push_back({StrCat("fc", i, ": (S(0)), (B) -> (S(0))"), "test"});
  }
  builder.AddOutput(StrCat("t", layers));
  request.graph = *builder.Build("test");
  request.graph.opsets[""] = 21;
  request.mesh = *ParseMesh("4");
  request.cluster = *FindPreset("8xH100");
  request.options.strategy = "greedy";
  request.options.prefetch = prefetch;
  request.rules = rules;
  Result<Plan> plan = MakePlan(std::move(request));
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

// With room each weight but the first is there when it is wanted, gathered just before; with room for one beside the
// one in use likewise; without, each layer waits.
TEST(SendAhead, HidesGatheredWeights) {
  const Plan none = GatheredStack(6, 0), one = GatheredStack(6, 9'000'000), all = GatheredStack(6, std::nullopt);
  const double gather = none.transitions[0].seconds, layer = none.decision(OpId(0)).compute_seconds;
  ASSERT_LT(1.25 * gather, layer);
  EXPECT_GE(MakeSchedule(none).summary.exposed, 4 * gather);  // where less is held than at the peak, there is room
  for (const Plan* plan : {&one, &all}) {
    const ScheduleSummary sum = MakeSchedule(*plan).summary;
    EXPECT_NEAR(sum.exposed, gather, 1e-9);
    EXPECT_LT(sum.step, gather + 6 * layer + 6 * gather * 0.2);
    for (uint32_t i = 0; i < 6; ++i) {  // one layer ahead, not more
      const OpId before = plan->transitions[i].ahead_of;
      EXPECT_EQ(before, i == 0 ? OpId() : OpId(i - 1)) << i;
    }
  }
  EXPECT_EQ(one.memory.peak_bytes, all.memory.peak_bytes);
  EXPECT_LE(one.memory.peak_bytes, none.memory.peak_bytes + 9'000'000);
  EXPECT_GT(one.memory.peak_bytes, none.memory.peak_bytes);
}

// What devices execute: the tasks in that order, their registers alive from there on, played alike by the fake backend.
TEST(SendAhead, IsPartOfThePhysicalPlan) {
  Plan plan = GatheredStack(6, std::nullopt);
  plan.physical = MakePhysicalPlan(plan);
  std::vector<int> fetched, used;
  for (const Task& task : plan.physical->tasks) {
    if (task.op.valid()) used.push_back(static_cast<int>(fetched.size()));
    if (!task.op.valid()) fetched.push_back(task.transition);
  }
  EXPECT_EQ(used, (std::vector<int>{2, 3, 4, 5, 6, 6}));  // two weights before the first layer
  const Schedule schedule = MakeSchedule(plan);
  const ActorGraph actors = MakeActorGraph(plan, *plan.physical).value();
  EXPECT_NEAR(schedule.summary.step, Simulate(actors, plan.mesh).value().seconds, 1e-12);
  EXPECT_NEAR(schedule.summary.exposed, plan.transitions[0].seconds, 1e-9);
}

TEST(RoomAhead, IsTheLimitTheDeviceOrWhatIsAsked) {
  Plan plan = GatheredStack(2, std::nullopt);
  const auto device = static_cast<int64_t>(plan.cluster.device.memory_bytes.value);
  EXPECT_EQ(RoomAhead(plan, 1000), device);
  plan.options.memory_limit = 5000;
  EXPECT_EQ(RoomAhead(plan, 1000), 5000);
  EXPECT_EQ(RoomAhead(plan, 6000), 6000);
  plan.options.prefetch = 100;
  EXPECT_EQ(RoomAhead(plan, 1000), 1100);
  EXPECT_EQ(RoomAhead(plan, 4950), 5000);
}

}  // namespace
}  // namespace sbp
