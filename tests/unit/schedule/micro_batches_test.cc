// Each micro-batch of a step on its own, against the schedule in which they are one task.
#include "schedule/micro_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "graph/sections.h"
#include "pipeline/pipeline.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

// A gradient that is summed over micro-batches, and an update that reads the sum. With `apart`, one more, whose ops
// stand last and wait for nothing: they run while weights are gathered, before those that stand before them.
Graph Step(int64_t micro_batches, bool apart) {
  const TensorType type = *ParseTensorType("f32[256,256]");
  GraphBuilder builder("step");
  builder.AddInput("x", type);
  builder.AddInput("acc/w", type);
  builder.AddParameter("w", type);
  builder.AddOp("MatMul", "forward", {"x", "w"}, {"y"});
  builder.AddOp("MatMul", "backward", {"x", "y"}, {"grad/w"});
  builder.AddOp("Add", "sum", {"acc/w", "grad/w"}, {"next/acc/w"});
  builder.AddOp("Sub", "update", {"w", "next/acc/w"}, {"next/w"});
  if (apart) {
    builder.AddInput("acc/v", type);
    builder.AddOp("MatMul", "apart", {"x", "x"}, {"grad/v"});
    builder.AddOp("Add", "sum_apart", {"acc/v", "grad/v"}, {"next/acc/v"});
    for (const char* name : {"grad/v", "next/acc/v"}) builder.DescribeTensor(name, type);
    builder.AddOutput("next/acc/v");
    builder.AddTie("next/acc/v", "acc/v", true);
  }
  for (const char* name : {"y", "grad/w", "next/acc/w", "next/w"}) builder.DescribeTensor(name, type);
  for (const char* name : {"next/acc/w", "next/w"}) builder.AddOutput(name);
  builder.AddTie("next/w", "w");
  builder.AddTie("next/acc/w", "acc/w", true);
  Graph graph = *builder.Build("step.json");
  graph.micro_batches = micro_batches;
  return graph;
}

Plan PlanOf(int64_t micro_batches, const RuleSet& rules, bool apart = false) {
  PlanRequest request;
  request.model_path = "step";
  request.graph = Step(micro_batches, apart);
  request.mesh = *ParseMesh("2");
  request.cluster = *FindPreset("8xH100");
  request.options.strategy = "greedy";
  request.pins.emplace_back("w=S(0)", "--pin");  // gathered, so that there are collectives
  request.rules = &rules;
  return *MakePlan(std::move(request));
}

class MicroBatchesTest : public testing::Test {
 protected:
  RuleSet rules_ = *RuleSet::Builtin();
};

TEST_F(MicroBatchesTest, OneAfterTheOtherThenTheStep) {
  const Plan plan = PlanOf(4, rules_);
  const MicroBatches played = PlayMicroBatches(plan, 1000);
  EXPECT_EQ(played.counts, std::vector<int64_t>(4, 1));
  const StepRuns runs(plan.graph);
  std::map<std::pair<int64_t, int64_t>, int> times;
  std::map<int64_t, double> seconds;
  double last_of_part = 0, update = 0;
  for (const PlayedTask& task : played.tasks) {
    if (task.op < 0) continue;
    ++times[{task.op, task.part}];
    seconds[task.op] += task.time.end - task.time.start;
    const bool repeats = runs.of(OpId(static_cast<uint32_t>(task.op))) > 1;
    (repeats ? last_of_part : update) = std::max(repeats ? last_of_part : update, task.time.end);
    EXPECT_TRUE(repeats || task.part == 3);
  }
  EXPECT_EQ(times.size(), 4U * 3 + 1);  // the update once
  EXPECT_GT(update, last_of_part);
  for (const auto& [op, total] : seconds) {
    const OpId id(static_cast<uint32_t>(op));
    const double once = plan.decision(id).compute_seconds;
    EXPECT_GE(total, once * static_cast<double>(runs.of(id)) * (1 - 1e-9)) << plan.graph.op(id).name;
  }
}

// Nothing of a micro-batch begins before the compute of the one before has ended, whichever op that ends with.
TEST_F(MicroBatchesTest, OneWaitsForAllOfTheOneBefore) {
  for (const bool apart : {false, true}) {
    const Plan plan = PlanOf(4, rules_, apart);
    const MicroBatches played = PlayMicroBatches(plan, 1000);
    const StepRuns runs(plan.graph);
    for (uint32_t part = 1; part < 4; ++part) {
      double ended = 0, begun = played.seconds;
      for (const PlayedTask& task : played.tasks) {
        if (task.op < 0 || runs.of(OpId(static_cast<uint32_t>(task.op))) == 1) continue;
        if (task.part + 1 == part) ended = std::max(ended, task.time.end);
        if (task.part == part) begun = std::min(begun, task.time.start);
      }
      EXPECT_GE(begun, ended * (1 - 1e-9)) << part << (apart ? ", apart" : "");
    }
  }
}

TEST_F(MicroBatchesTest, ManyAreFoldedInTheMiddle) {
  const Plan plan = PlanOf(100, rules_);
  size_t tasks = plan.graph.ops.size() + 1;
  for (const Transition& transition : plan.transitions) tasks += transition.steps.size();
  const MicroBatches folded = PlayMicroBatches(plan, 4 * tasks), all = PlayMicroBatches(plan, 100 * tasks);
  EXPECT_EQ(folded.counts, (std::vector<int64_t>{1, 1, 97, 1}));
  EXPECT_EQ(all.counts.size(), 100U);
  EXPECT_LE(folded.tasks.size(), 4 * tasks);
  EXPECT_NEAR(folded.seconds, all.seconds, 0.05 * all.seconds);
  EXPECT_TRUE(PlayMicroBatches(plan, 3 * tasks - 1).counts.empty());
}

TEST_F(MicroBatchesTest, APlanWithoutThemHasNone) {
  EXPECT_TRUE(PlayMicroBatches(PlanOf(1, rules_), 1000).counts.empty());
}

}  // namespace
}  // namespace sbp
