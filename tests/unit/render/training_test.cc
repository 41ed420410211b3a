#include "render/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "graph/adopt.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "render/dot.h"
#include "render/view.h"

namespace sbp {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Three equal layers, a loss without a scope of the model, their backward passes of two ops each, and one update.
Plan TrainingStep() {
  GraphBuilder builder("step");
  const TensorType type = ParseTensorType("f32[4,4]").value();
  builder.AddInput("x", type);
  builder.AddInput("m/w", type);
  builder.AddParameter("w", type);
  std::string last = "x";
  const auto add = [&](const std::string& op_type, const std::string& name, std::vector<std::string> inputs,
                       const std::string& scope) {
    builder.DescribeTensor(name, type);
    builder.AddOp(op_type, name, inputs, {name}, {}, scope);
    last = name;
  };
  for (int i = 0; i < 3; ++i) {
    add("Relu", StrCat("act", i), {last}, StrCat("h.", i));
    add("Exp", StrCat("exp", i), {last}, StrCat("h.", i));
  }
  add("Neg", "loss", {last}, "loss");
  add("Neg", "backward/loss/d.x", {"loss"}, "backward/loss");
  for (int i = 2; i >= 0; --i) {
    const std::string scope = StrCat("backward/h.", i);
    add("Mul", StrCat("backward/exp", i, "/d.x"), {last, StrCat("exp", i)}, scope);
    add("Greater", StrCat("backward/act", i, "/Greater"), {last, StrCat("act", i)}, scope);
    add("Where", StrCat("backward/act", i, "/d.x"), {last, last, last}, scope);
  }
  builder.DescribeTensor("next/w", type);
  builder.DescribeTensor("next/m/w", type);
  builder.AddOp("Update", "optimizer/w", {"w", last, "m/w"}, {"next/w", "next/m/w"}, {}, "optimizer");
  for (const char* output : {"loss", "next/w", "next/m/w"}) builder.AddOutput(output);
  builder.AddTie("next/w", "w");
  builder.AddTie("next/m/w", "m/w");
  Plan plan;
  plan.graph = builder.Build("step").value();
  return plan;
}

std::vector<std::string> Titles(const View& view, Phase phase) {
  std::vector<std::string> titles;
  for (const ViewNode& node : view.nodes) {
    if (node.phase == phase) titles.push_back(node.title);
  }
  return titles;
}

TEST(Training, ScopesAreFramedByPass) {
  const Plan plan = TrainingStep();
  std::vector<std::string> paths;
  for (const FramedScope& scope : FrameScopes(plan.graph, AdoptScopes(plan.graph))) {
    if (paths.empty() || paths.back() != scope.path) paths.push_back(scope.path);
  }
  EXPECT_THAT(paths, ElementsAre("forward/h.0", "forward/h.1", "forward/h.2", "forward/loss", "backward/loss",
                                 "backward/h.2", "backward/h.2/act2", "backward/h.1", "backward/h.1/act1",
                                 "backward/h.0", "backward/h.0/act0", "optimizer"));
}

TEST(Training, BothPassesOfALayerFoldAlike) {
  const View view = MakeView(TrainingStep(), {}).value();
  EXPECT_TRUE(view.training);
  std::vector<std::string> repeats;
  for (const ViewGroup& group : view.groups) {
    if (group.copies > 1) repeats.push_back(StrCat(PhaseName(group.phase), " ", group.label, " x", group.copies));
  }
  EXPECT_THAT(repeats, ElementsAre("forward h.0 .. h.2 x3", "backward h.0 .. h.2 x3"));
  // What a layer's Relu became is one box; the update is one, and its state no input.
  EXPECT_THAT(Titles(view, Phase::kBackward), ElementsAre("Neg", "Mul", "act0"));
  EXPECT_THAT(Titles(view, Phase::kOptimizer), ElementsAre("optimizer", "2 updated parameters and states"));
}

// A function of a framework's own: what it returns is laid out like its parameters, whether it updates them or not.
TEST(Training, WhatAFunctionReturnsForItsParametersIsCalledWhatItIs) {
  const auto title = [](const std::string& op) {
    GraphBuilder builder("function");
    const TensorType type = ParseTensorType("f32[4,4]").value();
    builder.AddInput("x", type);
    for (int i = 0; i < 9; ++i) {
      const std::string w = StrCat("w", i), made = StrCat("made", i), result = StrCat("result", i);
      builder.AddParameter(w, type);
      builder.DescribeTensor(made, type);
      builder.DescribeTensor(result, type);
      builder.AddOp("MatMul", StrCat("product", i), {"x", w}, {StrCat("product", i)});
      builder.DescribeTensor(StrCat("product", i), type);
      builder.AddOp(op, made, {op == "Sub" ? w : "x", StrCat("product", i)}, {made});
      builder.AddOp("Identity", result, {made}, {result});
      builder.AddOutput(result);
      builder.AddTie(result, w);
    }
    Plan plan;
    plan.graph = builder.Build("function").value();
    return MakeView(plan, {}).value().nodes.back().title;
  };
  EXPECT_EQ(title("Mul"), "9 gradients");
  EXPECT_EQ(title("Sub"), "9 updated parameters");
}

TEST(Training, KeptTensorsHaveEdgesWithTheirBytes) {
  const View view = MakeView(TrainingStep(), {}).value();
  std::vector<std::string> kept, within;
  for (const ViewEdge& edge : view.edges) {
    const std::string text = StrCat(view.nodes[edge.from].title, " -> ", view.nodes[edge.to].title, " ", edge.label);
    if (edge.kind == ViewEdge::Kind::kKept) kept.push_back(text);
    if (edge.kind == ViewEdge::Kind::kBackward) within.push_back(text);
  }
  EXPECT_THAT(kept, ElementsAre("Relu -> act0 64 B", "Exp -> Mul 64 B", "Neg -> Neg 64 B"));
  // The folded layers are entered from the loss, by way of the last one; none leads back to itself.
  EXPECT_THAT(within, ElementsAre("Neg -> Mul ", "Mul -> act0 "));
  const std::string dot = WriteDot(view);
  EXPECT_THAT(dot, HasSubstr("newrank=true"));
  EXPECT_THAT(dot, HasSubstr("dir=back"));
  EXPECT_THAT(dot, HasSubstr("style=dashed"));
}

TEST(Training, ALayerIsOpenedWithItsBackwardPass) {
  RenderOptions options;
  options.max_nodes = 60;
  options.expand = {"h.0"};
  const View view = MakeView(TrainingStep(), options).value();
  std::vector<std::string> labels;
  for (const ViewGroup& group : view.groups) labels.push_back(group.label);
  EXPECT_THAT(labels, Contains("forward"));
  EXPECT_THAT(labels, Contains("backward"));
  options.expand = {"backward/h.0/act0"};
  const View opened = MakeView(TrainingStep(), options).value();
  EXPECT_THAT(Titles(opened, Phase::kBackward), Contains("Where"));
}

TEST(Training, PicturesOfOtherGraphsStayAsTheyAre) {
  Plan plan = TrainingStep();
  for (std::string& scope : plan.graph.scopes) {
    if (scope.starts_with("backward")) scope = "net";
  }
  const View view = MakeView(plan, {}).value();
  EXPECT_FALSE(view.training);
  EXPECT_THAT(WriteDot(view), Not(HasSubstr("newrank")));
}

}  // namespace
}  // namespace sbp
