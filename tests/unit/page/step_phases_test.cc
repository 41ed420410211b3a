// Phases of steps that somebody else traced.
#include "page/step_phases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/builder.h"

namespace sbp {
namespace {

// loss = mean(x w), its gradient as aot_autograd makes it; `updates`: and the weight that replaces w.
Graph TracedStep(bool updates, const std::string& scope = "") {
  const TensorType matrix{DType::kF32, {8, 8}}, scalar{DType::kF32, {}};
  GraphBuilder b("step");
  b.AddInput("x", matrix);
  b.AddParameter("w", matrix);
  b.AddInput("ones", matrix);
  b.AddParameter("rate", scalar);
  b.AddOp("MatMul", "mm", {"x", "w"}, {"h"});
  b.AddOp("ReduceMean", "mean", {"h"}, {"loss"});
  b.AddOp("Transpose", "t", {"x"}, {"xt"});
  b.AddOp("MatMul", "dw", {"xt", "ones"}, {"grad/w"});
  if (updates) {
    b.AddOp("Mul", "scaled", {"grad/w", "rate"}, {"step"});
    b.AddOp("Sub", "sgd", {"w", "step"}, {"new.w"});
  }
  b.AddOutput("loss");
  b.AddOutput(updates ? "new.w" : "grad/w");
  if (updates) b.AddTie("new.w", "w");
  for (const char* name : {"h", "xt", "grad/w"}) b.DescribeTensor(name, matrix);
  b.DescribeTensor("loss", scalar);
  Graph graph = *b.Build("step");
  if (!scope.empty()) {
    graph.scopes.push_back(scope);
    for (Op& op : graph.ops) op.scope = static_cast<uint32_t>(graph.scopes.size() - 1);
  }
  return graph;
}

Phase PhaseNamed(const Graph& graph, const std::vector<Phase>& phases, const std::string& name) {
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (graph.ops[o].name == name) return phases[o];
  }
  ADD_FAILURE() << name;
  return Phase::kForward;
}

TEST(StepPhases, GradientsTellTheBackwardPass) {
  const Graph graph = TracedStep(false);
  const std::vector<Phase> phases = PhasesOfStep(graph);
  EXPECT_EQ(PhaseNamed(graph, phases, "mm"), Phase::kForward);
  EXPECT_EQ(PhaseNamed(graph, phases, "mean"), Phase::kForward);
  EXPECT_EQ(PhaseNamed(graph, phases, "t"), Phase::kBackward);
  EXPECT_EQ(PhaseNamed(graph, phases, "dw"), Phase::kBackward);
  EXPECT_TRUE(AreTraced(graph, phases));
}

TEST(StepPhases, WhatReplacesAParameterTellsTheOptimizer) {
  const Graph graph = TracedStep(true);
  const std::vector<Phase> phases = PhasesOfStep(graph);
  EXPECT_EQ(PhaseNamed(graph, phases, "mm"), Phase::kForward);
  EXPECT_EQ(PhaseNamed(graph, phases, "dw"), Phase::kBackward);
  EXPECT_EQ(PhaseNamed(graph, phases, "sgd"), Phase::kOptimizer);
}

// A running mean beside a number: no step, though a parameter is replaced.
TEST(StepPhases, StatisticsThatAForwardPassReplacesMakeNoStep) {
  const TensorType matrix{DType::kF32, {8, 8}}, scalar{DType::kF32, {}};
  GraphBuilder b("forward");
  b.AddInput("x", matrix);
  b.AddParameter("w", matrix);
  b.AddParameter("mean", matrix);
  b.AddOp("MatMul", "mm", {"x", "w"}, {"h"});
  b.AddOp("ReduceMean", "score", {"h"}, {"y"});
  b.AddOp("Add", "moved", {"mean", "h"}, {"new_mean"});
  for (const char* name : {"y", "new_mean"}) b.AddOutput(name);
  b.AddTie("new_mean", "mean");
  for (const char* name : {"h", "new_mean"}) b.DescribeTensor(name, matrix);
  b.DescribeTensor("y", scalar);
  const Graph graph = *b.Build("forward");
  EXPECT_EQ(PhasesOfStep(graph), std::vector<Phase>(graph.ops.size(), Phase::kForward));
}

TEST(StepPhases, ScopesThatSayAPhaseAreBelieved) {
  const Graph graph = TracedStep(true, "backward/x");
  const std::vector<Phase> phases = PhasesOfStep(graph);
  EXPECT_EQ(phases, std::vector<Phase>(graph.ops.size(), Phase::kBackward));
  EXPECT_FALSE(AreTraced(graph, phases));
}

// What replaces a running mean is no gradient: without a loss nothing is told.
TEST(StepPhases, WithoutALossAllIsForward) {
  Graph graph = TracedStep(true);
  graph.outputs.erase(graph.outputs.begin());
  EXPECT_EQ(PhasesOfStep(graph), std::vector<Phase>(graph.ops.size(), Phase::kForward));
}

TEST(StepPhases, ScopesSayThemThen) {
  Graph graph = TracedStep(true, "net/fc");
  const std::vector<Phase> phases = PhasesOfStep(graph);
  SetPhaseScopes(phases, graph);
  for (size_t o = 0; o < phases.size(); ++o) EXPECT_EQ(PhaseOf(graph, graph.ops[o]), phases[o]);
  EXPECT_EQ(graph.scope_of(graph.ops[0]), "net/fc");
  EXPECT_EQ(graph.scope_of(graph.ops[3]), "backward/net/fc");
}

}  // namespace
}  // namespace sbp
