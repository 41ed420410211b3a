#include "graph/reorder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/graph.h"

namespace sbp {
namespace {

// Ops of one operand each: name, operand, result.
struct Step {
  const char *name, *operand, *result;
};

Graph Of(const std::vector<Step>& steps) {
  const TensorType type = *ParseTensorType("f32[4]");
  GraphBuilder builder("steps");
  builder.AddInput("x", type);
  for (const Step& step : steps) {
    builder.AddOp("Neg", step.name, {step.operand}, {step.result});
    builder.DescribeTensor(step.result, type);
    builder.AddOutput(step.result);
  }
  Result<Graph> graph = builder.Build("steps.json");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

std::string Names(const Graph& graph) {
  std::string names;
  for (const Op& op : graph.ops) names += op.name;
  return names;
}

TEST(Reorder, ProducersFollowTheirOps) {
  Graph graph = Of({{"a", "x", "p"}, {"b", "p", "q"}, {"c", "x", "r"}});
  Reorder(std::vector<OpId>{OpId(2), OpId(0), OpId(1)}, graph);
  EXPECT_EQ(Names(graph), "cab");
  const NameIndex names(graph);
  EXPECT_EQ(graph.tensor(names.tensor("r")).producer, OpId(0));
  EXPECT_EQ(graph.tensor(names.tensor("p")).producer, OpId(1));
  EXPECT_EQ(graph.tensor(names.tensor("q")).producer, OpId(2));
  EXPECT_TRUE(Verify(graph, "steps.json").ok());
}

TEST(Reorder, TakesTheOrderOfAnotherGraph) {
  const Graph earlier = Of({{"c", "x", "r"}, {"a", "x", "p"}, {"b", "p", "q"}});
  Graph graph = Of({{"a", "x", "p"}, {"b", "p", "q"}, {"c", "x", "r"}, {"d", "r", "s"}});
  PutInOrderOf(earlier, graph);
  EXPECT_EQ(Names(graph), "cdab");  // d, which is new, stays behind c
  EXPECT_TRUE(Verify(graph, "steps.json").ok());
}

TEST(Reorder, WhatIsReadStaysInFront) {
  const Graph earlier = Of({{"b", "x", "q"}, {"a", "q", "p"}, {"c", "x", "r"}});
  Graph graph = Of({{"a", "x", "p"}, {"b", "p", "q"}, {"c", "x", "r"}});
  PutInOrderOf(earlier, graph);
  EXPECT_EQ(Names(graph), "abc");
  EXPECT_TRUE(Verify(graph, "steps.json").ok());
}

}  // namespace
}  // namespace sbp
