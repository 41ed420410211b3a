#include "memory/training.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "memory/memory.h"
#include "plan/plan.h"

namespace sbp {
namespace {

// One step on two devices: y = x w is kept for the backward pass, which multiplies it; the gradient is partial and is
// summed for the update. 16 floats each, but for the gradient of 128.
Plan StepPlan() {
  GraphBuilder builder("step");
  const TensorType type = *ParseTensorType("f32[4,4]");
  for (const char* name : {"x", "m/w", "acc/w"}) builder.AddInput(name, type);
  builder.AddParameter("w", type);
  for (const char* name : {"copy", "y", "t", "sum", "next", "next/m"}) builder.DescribeTensor(name, type);
  builder.DescribeTensor("grad/w", *ParseTensorType("f32[32,4]"));
  builder.AddOp("Identity", "copy", {"w"}, {"copy"}, {}, "net");
  builder.AddOp("MatMul", "y", {"x", "copy"}, {"y"}, {}, "net");
  builder.AddOp("Exp", "t", {"y"}, {"t"}, {}, "loss");
  builder.AddOp("MatMul", "g", {"t", "y"}, {"grad/w"}, {}, "backward/net");
  builder.AddOp("Add", "a", {"acc/w", "grad/w"}, {"sum"}, {}, "backward/net");
  builder.AddOp("Two", "next", {"w", "sum", "m/w"}, {"next", "next/m"}, {}, "optimizer/net");
  builder.AddOutput("next");
  builder.AddOutput("next/m");
  builder.AddOutput("sum");
  builder.AddTie("next", "w");
  builder.AddTie("next/m", "m/w");
  builder.AddTie("sum", "acc/w", true);
  Plan plan;
  plan.graph = *builder.Build("");
  plan.mesh = *ParseMesh("2");
  plan.source_layouts.assign(plan.graph.tensors.size(), *ParseNdSbp("B"));
  plan.op_records.assign(plan.graph.ops.size(), 0);
  plan.records.resize(1);
  return plan;
}

TensorId Named(const Plan& plan, const std::string& name) { return NameIndex(plan.graph).tensor(name); }

void SetPeak(Plan& plan) {
  const StepOrder order = OrderOfStep(plan);
  plan.memory = PeakMemory(plan, order, Lifetimes(plan, order));
}

TEST(Training, EveryByteOfThePeakIsOneOfTheSix) {
  Plan plan = StepPlan();
  SetPeak(plan);
  const MemorySplit split = SplitPeak(plan).value();
  // While op "g" runs: t is there beside y, w and what is made of it have been read.
  EXPECT_EQ(plan.memory.peak_op, OpId(3));
  EXPECT_EQ(split.parameters, 64);
  EXPECT_EQ(split.gradients, 512 + 64);  // grad/w and acc/w
  EXPECT_EQ(split.states, 64);
  EXPECT_EQ(split.kept, 2 * 64);     // y and t, both read by "g"
  EXPECT_EQ(split.activations, 64);  // x
  EXPECT_EQ(split.buffers, 0);
  int64_t sum = 0;
  for (const auto& [name, bytes] : PartsOf(split)) sum += bytes;
  EXPECT_EQ(sum, plan.memory.peak_bytes);
  // The same from the parts of buffers.
  const StepOrder order = OrderOfStep(plan);
  const std::vector<Lifetime> lifetimes = Lifetimes(plan, order);
  const std::vector<uint8_t> parts = PartsOfBuffers(plan);
  const uint32_t peak = PeakPosition(order, lifetimes);
  ASSERT_EQ(parts.size(), lifetimes.size());
  std::vector<int64_t> sums(PartsOf(split).size(), 0);
  for (size_t b = 0; b < parts.size(); ++b) {
    if (lifetimes[b].first <= peak && peak <= lifetimes[b].last) sums.at(parts[b]) += lifetimes[b].bytes;
  }
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], PartsOf(split)[i].second) << PartsOf(split)[i].first;
}

TEST(Training, CopiesAreGradientsKeptOrBuffers) {
  Plan plan = StepPlan();
  const NdSbp whole = *ParseNdSbp("B"), split = *ParseNdSbp("S(0)");
  const auto box = [&](const char* tensor, const NdSbp& from, const NdSbp& to, std::vector<Use> uses) {
    Transition transition{.tensor = Named(plan, tensor), .from = from, .to = to};
    transition.steps = {{CollectiveKind::kSlice, 0, from, to}};
    transition.consumers = std::move(uses);
    plan.transitions.push_back(transition);
  };
  // y is cut for the loss, and the backward pass reads that copy, too; for the sum the gradient is cut.
  box("y", whole, split, {{OpId(2), 0}, {OpId(3), 1}});
  box("grad/w", whole, split, {{OpId(4), 1}});
  SetPeak(plan);
  const std::vector<int64_t> kept = KeptBytesOnDevice(plan);
  EXPECT_EQ(kept[Named(plan, "y").index()], 32);  // the copy alone
  EXPECT_EQ(kept[Named(plan, "t").index()], 64);
  EXPECT_EQ(kept[Named(plan, "x").index()], 0);
  EXPECT_EQ(kept[Named(plan, "copy").index()], 0);
  const MemorySplit parts = SplitPeak(plan).value();  // while the gradient is cut
  EXPECT_EQ(parts.gradients, 512 + 256 + 64);
  EXPECT_EQ(parts.kept, 0);
  EXPECT_EQ(parts.buffers, 0);
  int64_t sum = 0;
  for (const auto& [name, bytes] : PartsOf(parts)) sum += bytes;
  EXPECT_EQ(sum, plan.memory.peak_bytes);
}

TEST(Training, OtherPlansHaveNoSplit) {
  Plan plan = StepPlan();
  SetPeak(plan);
  for (std::string& scope : plan.graph.scopes) scope = "net";
  EXPECT_FALSE(SplitPeak(plan).has_value());
  EXPECT_EQ(KeptBytesOnDevice(plan), std::vector<int64_t>(plan.graph.tensors.size(), 0));
}

}  // namespace
}  // namespace sbp
