#include "memory/memory.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked_math.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/held.h"
#include "plan/plan.h"
#include "rule/in_place.h"
#include "unit/plan/small_plan.h"

namespace sbp {
namespace {

std::string Text(const Plan& plan, const std::vector<Lifetime>& lifetimes) {
  std::string text;
  for (const Lifetime& lifetime : lifetimes) {
    text += StrCat(plan.graph.tensor(lifetime.tensor).name, lifetime.transition >= 0 ? "'" : "", " ", lifetime.kind,
                   " ", lifetime.bytes, " [", lifetime.first, ",", lifetime.last, "]\n");
  }
  return text;
}

TEST(Memory, LocalBytes) {
  const Mesh mesh = *ParseMesh("2,4");
  EXPECT_EQ(LocalBytes(*ParseTensorType("f32[5,8]"), *ParseNdSbp("(S0,S1)"), mesh), 3 * 2 * 4);
  EXPECT_EQ(LocalBytes(*ParseTensorType("u4[5]"), *ParseNdSbp("(B,B)"), mesh), 3);
  EXPECT_EQ(LocalBytes(*ParseTensorType("f32[?]"), *ParseNdSbp("(B,B)"), mesh), 0);
  EXPECT_EQ(LocalBytes(*ParseTensorType("f64[4611686018427387904]"), *ParseNdSbp("(B,B)"), mesh), kInt64Max);
}

TEST(Memory, SmallPlan) {
  const Plan plan = SmallPlan();
  const std::vector<Lifetime> lifetimes = Lifetimes(plan, OrderOfStep(plan));
  EXPECT_EQ(Text(plan, lifetimes),
            "x input 32 [0,2]\n"
            "w parameter 128 [0,2]\n"
            "h activation 256 [0,1]\n"  // read by the all-reduce, which is between the ops
            "y activation 256 [2,2]\n"
            "h' boxing 256 [1,2]\n");
  const MemorySummary peak = PeakMemory(plan, OrderOfStep(plan), lifetimes);
  EXPECT_EQ(peak.peak_bytes, 32 + 128 + 256 * 2);
  EXPECT_EQ(peak.parameter_bytes, 128);
  EXPECT_EQ(peak.activation_bytes, 32 + 256);
  EXPECT_EQ(peak.boxing_bytes, 256);
  EXPECT_EQ(peak.peak_op, OpId(1));
  ASSERT_EQ(peak.holders.size(), 4u);
  EXPECT_EQ(peak.holders[0].name, "h");
  EXPECT_EQ(peak.holders[1].name, "boxing of h for act");
  EXPECT_EQ(peak.holders[3].name, "x");
}

TEST(Memory, WhatIsHeldStaysThoughNobodyReadsIt) {
  Plan plan = SmallPlan();
  plan.graph.ops[0].metadata = {{std::string(kHeldUntil), plan.graph.ops[1].name}};
  EXPECT_EQ(Lifetimes(plan, OrderOfStep(plan))[2].last, 2u);
  plan.graph.ops[0].metadata = {{std::string(kHeldUntil), "none of that name"}};
  EXPECT_EQ(Lifetimes(plan, OrderOfStep(plan))[2].last, 1u);
}

TEST(Memory, IntermediatesOfAPath) {
  Plan plan = SmallPlan();
  // From P to B through S: the parts (64 bytes) exist beside the tensor, then beside the copy.
  Transition& transition = plan.transitions[0];
  const BoxingStep gather{CollectiveKind::kAllGather, 0, *ParseNdSbp("S0"), *ParseNdSbp("B")};
  const BoxingStep scatter{CollectiveKind::kReduceScatter, 0, *ParseNdSbp("P"), *ParseNdSbp("S0")};
  transition.steps = {scatter, gather};
  const std::vector<Lifetime> lifetimes = Lifetimes(plan, OrderOfStep(plan));
  EXPECT_EQ(lifetimes.size(), 6u);
  EXPECT_EQ(lifetimes.back().bytes, 64);
  EXPECT_EQ(lifetimes.back().first, 1u);
  EXPECT_EQ(lifetimes.back().last, 2u);
  EXPECT_EQ(PeakMemory(plan, OrderOfStep(plan), lifetimes).peak_bytes, 32 + 128 + 256 * 2);
}

TEST(Memory, CopiesOfCopies) {
  Plan plan = SmallPlan();
  Transition second = plan.transitions[0];
  second.from = *ParseNdSbp("B");
  second.to = *ParseNdSbp("S1");
  second.steps = {{CollectiveKind::kSlice, 0, second.from, second.to}};
  second.consumers = {};  // for the end of the step
  plan.transitions.push_back(second);
  EXPECT_EQ(Text(plan, Lifetimes(plan, OrderOfStep(plan))),
            "x input 32 [0,3]\n"
            "w parameter 128 [0,3]\n"
            "h activation 256 [0,1]\n"
            "y activation 256 [2,3]\n"
            "h' boxing 256 [1,3]\n"
            "h' boxing 64 [3,3]\n");
}

std::string InPlace(const Plan& plan, const std::vector<std::vector<InPlacePair>>& pairs) {
  std::string text;
  for (const InPlaceWrite& write :
       FindInPlace(plan, OrderOfStep(plan), [&](OpId op) { return std::span<const InPlacePair>(pairs[op.index()]); })) {
    text += StrCat(plan.graph.op(write.op).name, " ", write.result, "<", write.operand, " ");
  }
  return text;
}

TEST(Memory, WhatIsReadLastIsWrittenOver) {
  Plan plan = SmallPlan();
  EXPECT_EQ(InPlace(plan, {{}, {{0, 0}}}), "act 0<0 ");  // over the copy that the all-reduce makes
  EXPECT_EQ(InPlace(plan, {{}, {{0, 0, false}}}), "");   // no kernel does it
  plan.in_place = {{OpId(1), 0, 0}};
  const std::vector<Lifetime> lifetimes = Lifetimes(plan, OrderOfStep(plan));
  EXPECT_EQ(Text(plan, lifetimes),
            "x input 32 [0,2]\n"
            "w parameter 128 [0,2]\n"
            "h activation 256 [0,1]\n"
            "y activation 256 [2,2]\n"
            "h' boxing 256 [1,1]\n");
  plan.graph.outputs.push_back(plan.transitions[0].tensor);
  plan.output_layouts = {*ParseNdSbp("B"), *ParseNdSbp("B")};
  EXPECT_EQ(InPlace(plan, {{}, {{0, 0}}}), "");  // the copy is left in the end
}

TEST(Memory, OnlyItsNextValueIsWrittenOverAState) {
  GraphBuilder builder("step");
  builder.AddParameter("w", *ParseTensorType("f32[8]"));
  for (const char* name : {"a", "b"}) builder.DescribeTensor(name, *ParseTensorType("f32[8]"));
  builder.AddOp("Relu", "first", {"w"}, {"a"});
  builder.AddOp("Add", "second", {"w", "a"}, {"b"});
  builder.AddOutput("b");
  Plan plan;
  plan.graph = *builder.Build("");
  plan.mesh = *ParseMesh("2");
  plan.records.resize(2);
  plan.op_records = {0, 1};
  plan.source_layouts.assign(3, *ParseNdSbp("B"));
  const std::vector<std::vector<InPlacePair>> pairs = {{{0, 0}}, {{0, 0}, {0, 1}}};
  EXPECT_EQ(InPlace(plan, pairs), "second 0<1 ");
  const auto id = [&](std::string_view name) { return NameIndex(plan.graph).tensor(name); };
  plan.graph.ties = {{id("b"), id("w")}};
  EXPECT_EQ(InPlace(plan, pairs), "second 0<0 ");
  plan.in_place = {{OpId(1), 0, 0}};
  EXPECT_EQ(PeakMemory(plan, OrderOfStep(plan), Lifetimes(plan, OrderOfStep(plan))).peak_bytes, 64);
  plan.graph.ties = {{id("a"), id("w")}};  // read afterwards
  EXPECT_EQ(InPlace(plan, pairs), "");     // and "a" is left in the end
  plan.graph.ties = {{id("b"), id("w")}};
  plan.source_layouts[id("w").index()] = *ParseNdSbp("S(0)");  // boxed at the end
  EXPECT_EQ(InPlace(plan, pairs), "second 0<1 ");
}

TEST(Memory, EmptyGraph) {
  Plan plan;
  plan.mesh = *ParseMesh("2");
  EXPECT_TRUE(Lifetimes(plan, OrderOfStep(plan)).empty());
  EXPECT_EQ(PeakMemory(plan, OrderOfStep(plan), {}).peak_bytes, 0);
  EXPECT_FALSE(PeakMemory(plan, OrderOfStep(plan), {}).peak_op.valid());
}

TEST(Memory, PeakEqualsSummingEveryPosition) {
  std::mt19937 random(3);
  const Plan small = SmallPlan();
  for (int round = 0; round < 200; ++round) {
    Plan plan = small;
    const size_t positions = 1 + random() % 10;
    plan.graph.ops.resize(positions, small.graph.ops[0]);
    std::vector<Lifetime> lifetimes;
    for (size_t i = 0; i < random() % 12; ++i) {
      Lifetime lifetime;
      lifetime.tensor = TensorId(0);
      lifetime.bytes = static_cast<int64_t>(random() % 5);
      lifetime.first = static_cast<uint32_t>(random() % positions);
      lifetime.last = lifetime.first + static_cast<uint32_t>(random() % (positions - lifetime.first));
      lifetimes.push_back(lifetime);
    }
    int64_t most = 0;
    for (size_t at = 0; at < positions; ++at) {
      int64_t sum = 0;
      for (const Lifetime& lifetime : lifetimes)
        sum += lifetime.first <= at && at <= lifetime.last ? lifetime.bytes : 0;
      most = std::max(most, sum);
    }
    EXPECT_EQ(PeakMemory(plan, OrderOfStep(plan), lifetimes).peak_bytes, most);
  }
  std::vector<Lifetime> huge(3, Lifetime{kInt64Max, 0, 1, TensorId(0)});
  EXPECT_EQ(PeakMemory(small, OrderOfStep(small), huge).peak_bytes, kInt64Max);
}

}  // namespace
}  // namespace sbp
