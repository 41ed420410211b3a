#include "graph/sections.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

// loss and gradient of a micro-batch; the gradients' sum scaled by a number that only the update reads.
Graph Accumulating(bool restarts) {
  const TensorType type = *ParseTensorType("f32[4]");
  GraphBuilder builder("accumulating");
  builder.AddInput("x", type);
  builder.AddInput("sum", type);
  builder.AddInput("lr", type);
  builder.AddParameter("w", type);
  builder.AddOp("Mul", "forward", {"x", "w"}, {"loss"});
  builder.AddOp("Neg", "rate", {"lr"}, {"r"});
  builder.AddOp("Add", "accumulate", {"sum", "loss"}, {"next/sum"});
  builder.AddOp("Mul", "scaled", {"next/sum", "r"}, {"g"});
  builder.AddOp("Add", "update", {"w", "g"}, {"next/w"});
  builder.AddOutput("loss");
  builder.AddOutput("next/sum");
  builder.AddOutput("next/w");
  builder.AddTie("next/sum", "sum", restarts);
  builder.AddTie("next/w", "w");
  Result<Graph> graph = builder.Build("accumulating.json");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  graph->micro_batches = 4;
  return *graph;
}

TEST(Sections, WhatReadsAnAccumulatorRunsOnce) {
  const Graph graph = Accumulating(true);
  std::vector<std::string> step;
  const std::vector<StepSection> sections = SectionsOf(graph);
  for (size_t i = 0; i < sections.size(); ++i) {
    if (sections[i] == StepSection::kStep) step.push_back(graph.ops[i].name);
  }
  EXPECT_EQ(step, (std::vector<std::string>{"rate", "scaled", "update"}));
  const NameIndex index(graph);
  const StepRuns runs(graph);
  EXPECT_EQ(runs.of(index.op("forward")), 4);
  EXPECT_EQ(runs.of(index.op("update")), 1);
  EXPECT_EQ(runs.end(index.tensor("loss")), 4);
  EXPECT_EQ(runs.end(index.tensor("next/w")), 1);
  EXPECT_TRUE(runs.accumulates(index.tensor("next/sum")));
  EXPECT_FALSE(runs.accumulates(index.tensor("next/w")));
}

TEST(Sections, AllIsMicroWithoutAccumulators) {
  for (const StepSection section : SectionsOf(Accumulating(false))) EXPECT_EQ(section, StepSection::kMicro);
}

}  // namespace
}  // namespace sbp
