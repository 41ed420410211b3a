#include "runtime/actors/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/plan/small_plan.h"
#include "unit/runtime/plans.h"

namespace sbp {
namespace {

TEST(Trace, MemoryFollowsTheRegisters) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  const ActorGraph graph = MakeActorGraph(plan, physical, {.seconds = {1, 2, 1}}).value();
  Timeline timeline = Simulate(graph, *ParseMesh("model=4")).value();
  std::erase_if(timeline.spans, [](const Span& span) { return span.device != 0; });
  // w 128 throughout, x 64 until MatMul ends, h 256 until the all-reduce ends, its whole copy until Relu ends.
  EXPECT_THAT(
      MemoryOverTime(plan, physical, graph, timeline.spans),
      ::testing::ElementsAre(MemorySample{0, 128 + 64 + 256}, MemorySample{1, 128 + 512}, MemorySample{4, 128}));
}

TEST(Trace, NeverMoreThanTheArena) {
  for (const PlanCase& c : PlanCases()) {
    const Plan plan = MakeTestPlan(c);
    for (const uint32_t micro_batches : {1U, 3U}) {
      const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = micro_batches});
      const ActorGraph graph = MakeActorGraph(plan, physical).value();
      Timeline timeline = Simulate(graph, plan.mesh, [](uint32_t, Firing) { return 1.0; }).value();
      std::erase_if(timeline.spans, [](const Span& span) { return span.device != 1; });
      for (const MemorySample& sample : MemoryOverTime(plan, physical, graph, timeline.spans)) {
        EXPECT_LE(sample.bytes, physical.arena_bytes) << c.name() << " at " << sample.seconds;
      }
    }
  }
}

TEST(Trace, TracksOfMeasuredAndPredictedTimes) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  const ActorGraph graph = MakeActorGraph(plan, physical, {.seconds = {1e-6, 2e-6, 1e-6}}).value();
  const Timeline predicted = Simulate(graph, plan.mesh).value();
  const std::vector<Span> measured = {{2, {0, 1}, 5e-7, 3.001e-6}};
  const std::string text = TraceJson(plan, physical, graph, measured, predicted.spans);
  EXPECT_EQ(text, TraceJson(plan, physical, graph, measured, predicted.spans));
  const nlohmann::json json = nlohmann::json::parse(text);
  std::map<int, std::string> processes;
  size_t spans = 0, counters = 0;
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["ph"] == "C") ++counters;
    if (event["ph"] != "X") continue;
    ++spans;
    if (event["pid"] != 4) continue;
    EXPECT_EQ(event.dump(), nlohmann::json::parse(R"({"name": "all-reduce over model of \"h\"", "ph": "X", "pid": 4,
        "tid": 1, "ts": 0.5, "dur": 2.501, "args": {"task": 1, "micro_batch": 0, "predicted_us": 2}})")
                                .dump());
  }
  EXPECT_THAT(processes,
              ::testing::ElementsAre(std::pair(1, "device 0, predicted"), std::pair(3, "device 1, predicted"),
                                     std::pair(4, "device 2, measured"), std::pair(5, "device 2, predicted"),
                                     std::pair(7, "device 3, predicted")));
  EXPECT_EQ(spans, 1 + 4 * graph.actors.size());
  EXPECT_GT(counters, 4U);
}

TEST(Trace, NamesOfAnyBytesStayValidJson) {
  Plan plan = SmallPlan();
  plan.graph.ops[0].name = "quote \" and \xff and \n";
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  const ActorGraph graph = MakeActorGraph(plan, physical).value();
  const Timeline predicted = Simulate(graph, plan.mesh).value();
  EXPECT_TRUE(nlohmann::json::accept(TraceJson(plan, physical, graph, {}, predicted.spans)));
}

}  // namespace
}  // namespace sbp
