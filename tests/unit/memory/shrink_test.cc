#include "memory/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "boxing/boxing.h"
#include "graph/builder.h"
#include "memory/memory.h"
#include "plan/plan.h"

namespace sbp {
namespace {

// `a` makes k, which `b` reads at once and `e` at the end, split; c and d run in between.
struct Shape {
  bool reads_late = false;  // d reads k, too, as it was written
  bool is_output = false;   // k is
};
Plan PlanOf(const Shape& shape) {
  GraphBuilder builder("waits");
  builder.AddInput("x", *ParseTensorType("f32[8,16]"));
  for (const char* name : {"k", "r", "s", "t", "y"}) builder.DescribeTensor(name, *ParseTensorType("f32[8,16]"));
  builder.AddOp("Relu", "a", {"x"}, {"k"});
  builder.AddOp("Relu", "b", {"k"}, {"r"});
  builder.AddOp("Relu", "c", {"r"}, {"s"});
  builder.AddOp("Add", "d", {"s", shape.reads_late ? "k" : "r"}, {"t"});
  builder.AddOp("Add", "e", {"t", "k"}, {"y"});
  builder.AddOutput("y");
  if (shape.is_output) builder.AddOutput("k");
  Plan plan;
  plan.graph = *builder.Build("");
  plan.mesh = *ParseMesh("4");
  plan.cluster = *FindPreset("8xH100");
  const NdSbp whole = *ParseNdSbp("B"), split = *ParseNdSbp("S(0)");
  plan.source_layouts.assign(plan.graph.tensors.size(), whole);
  plan.records.resize(1);
  plan.op_records.assign(plan.graph.ops.size(), 0);
  BoxingTable table(plan.mesh, plan.cluster, false, BoxingCriterion::kWireBytes);
  for (const char* name : {"t", "k"}) {
    Transition transition;
    transition.tensor = NameIndex(plan.graph).tensor(name);
    transition.from = whole;
    transition.to = split;
    transition.steps = table.Path(plan.graph.tensor(transition.tensor).type, whole, split).steps;
    transition.consumers = {{OpId(4), name[0] == 't' ? 0U : 1U}};
    plan.transitions.push_back(transition);
  }
  return plan;
}

int64_t BytesDuring(const Plan& plan, OpId op) {
  const StepOrder order = OrderOfStep(plan);
  return MostHeldByOp(order, Lifetimes(plan, order))[op.index()];
}

// k is 512 bytes, its part 128.
TEST(ShrinkEarly, LeavesTheSmallerCopyWhileNobodyReads) {
  Plan plan = PlanOf({});
  const int64_t before = BytesDuring(plan, OpId(3));
  ASSERT_TRUE(ShrinkEarly(plan));
  EXPECT_EQ(plan.transitions[1].ahead_of, OpId(2));    // behind b
  EXPECT_FALSE(plan.transitions[0].ahead_of.valid());  // t is split as soon as it is there
  EXPECT_EQ(BytesDuring(plan, OpId(3)), before - (512 - 128));
}

TEST(ShrinkEarly, WaitsForThoseWhoReadAllOfIt) {
  Plan late = PlanOf({.reads_late = true});
  EXPECT_FALSE(ShrinkEarly(late));
  Plan output = PlanOf({.is_output = true});
  EXPECT_FALSE(ShrinkEarly(output));
}

TEST(ShrinkEarly, IsNothingForWhatGrowsOrForMicroBatches) {
  Plan grows = PlanOf({});
  std::swap(grows.transitions[1].from, grows.transitions[1].to);
  grows.source_layouts[grows.transitions[1].tensor.index()] = grows.transitions[1].from;
  EXPECT_FALSE(ShrinkEarly(grows));
  Plan micro = PlanOf({});
  micro.graph.micro_batches = 2;
  EXPECT_FALSE(ShrinkEarly(micro));
}

}  // namespace
}  // namespace sbp
