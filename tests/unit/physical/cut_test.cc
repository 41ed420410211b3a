#include "physical/cut.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "check/check.h"
#include "generate/generate.h"
#include "graph/cut.h"
#include "physical/physical.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

const RuleSet& Rules() {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  return *rules;
}

Plan MakePlanOf(const char* family, const char* mesh, Execution execution = Execution::kFused) {
  PlanRequest request;
  request.graph = *GenerateGraph(family, {.ops = 30, .seed = 3});
  request.mesh = *ParseMesh(mesh);
  request.cluster = *FindPreset("8xH100");
  request.cluster.execution = execution;
  request.rules = &Rules();
  Plan plan = *MakePlan(std::move(request));
  plan.physical = MakePhysicalPlan(plan, {.micro_batches = 2});
  return plan;
}

std::string Violations(const Plan& plan) {
  std::string text;
  for (const Violation& v : CheckPlan(plan, Rules())) {
    text += StrCat(v.where, ": ", v.what, ": expected ", v.expected, ", found ", v.found, "\n");
  }
  return text;
}

TEST(CutPlan, EveryPartIsAPlan) {
  for (const char* family : {"transformer", "mlp", "random"}) {
    for (const char* mesh : {"2", "a=2,b=2"}) {
      const Plan plan = MakePlanOf(family, mesh);
      for (size_t t = 0; t < plan.graph.tensors.size(); ++t) {
        const Tensor& tensor = plan.graph.tensors[t];
        if (!tensor.producer.valid()) continue;
        const Plan part = CutPlan(plan, TensorId(t));
        EXPECT_EQ(Violations(part), "") << family << " on " << mesh << " until " << tensor.name;
        ASSERT_EQ(part.graph.outputs.size(), 1u);
        EXPECT_EQ(part.graph.tensor(part.graph.outputs[0]).name, tensor.name);
        EXPECT_EQ(part.physical->micro_batches, 2u);
      }
    }
  }
}

TEST(CutPlan, KeepsWhatWasDecidedAndDropsTheRest) {
  const Plan plan = MakePlanOf("transformer", "a=2,b=2", Execution::kEager);  // as parts are
  const TensorId middle = plan.graph.ops[plan.graph.ops.size() / 2].outputs[0];
  const Plan part = CutPlan(plan, middle);
  ASSERT_LT(part.graph.ops.size(), plan.graph.ops.size());
  EXPECT_LT(part.total.compute_seconds, plan.total.compute_seconds);
  EXPECT_LE(part.memory.peak_bytes, plan.memory.peak_bytes);
  const NameIndex whole(plan.graph);
  for (size_t o = 0; o < part.graph.ops.size(); ++o) {
    const OpId old = whole.op(part.graph.ops[o].name);
    ASSERT_TRUE(old.valid());
    EXPECT_EQ(part.decision(OpId(o)).signature, plan.decision(old).signature);
  }
  for (size_t t = 0; t < part.graph.tensors.size(); ++t) {
    EXPECT_EQ(part.source_layouts[t], plan.source_layouts[whole.tensor(part.graph.tensors[t].name).index()]);
  }
}

TEST(CutGraph, AtAnInput) {
  const Graph graph = *GenerateGraph("mlp", {.ops = 10});
  const CutResult cut = CutGraph(graph, graph.inputs[0]);
  EXPECT_TRUE(cut.graph.ops.empty());
  EXPECT_EQ(cut.graph.tensors.size(), 1u);
  EXPECT_EQ(cut.graph.outputs, cut.graph.inputs);
  EXPECT_TRUE(Verify(cut.graph, "cut").ok());
}

}  // namespace
}  // namespace sbp
