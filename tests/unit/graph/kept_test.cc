#include "graph/kept.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "graph/builder.h"
#include "graph/graph.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;

// A product, its backward pass and an update; "copy" is made of the weight alone.
Graph Step(const std::string& backward) {
  GraphBuilder builder("step");
  const TensorType type = ParseTensorType("f32[4,4]").value();
  builder.AddInput("x", type);
  builder.AddParameter("w", type);
  for (const char* name : {"copy", "y", "z", "loss", "d", "g", "g2", "next"}) builder.DescribeTensor(name, type);
  builder.AddOp("Identity", "copy", {"w"}, {"copy"}, {}, "net");
  builder.AddOp("MatMul", "y", {"x", "copy"}, {"y"}, {}, "net");
  builder.AddOp("Identity", "z", {"y"}, {"z"}, {}, "net");
  builder.AddOp("Exp", "loss", {"z"}, {"loss"}, {}, "loss");
  builder.AddOp("Mul", "d", {"loss", "loss"}, {"d"}, {}, backward);
  builder.AddOp("Mul", "g", {"d", "z"}, {"g"}, {}, backward);
  builder.AddOp("Sum", "g2", {"g", "z", "copy", "x", "w"}, {"g2"}, {}, backward);
  builder.AddOp("Add", "next", {"g2", "y"}, {"next"}, {}, "optimizer/net");
  builder.AddOutput("next");
  return builder.Build("step").value();
}

std::vector<std::string> Text(const Graph& graph) {
  std::vector<std::string> lines;
  for (const KeptTensor& kept : FindKept(graph)) {
    std::vector<std::string> readers;
    for (const OpId op : kept.readers) readers.push_back(graph.op(op).name);
    lines.push_back(StrCat(graph.tensor(kept.tensor).name, ": ", Join(readers, " ")));
  }
  return lines;
}

TEST(Kept, WhatTheBackwardPassReadsOfTheForwardPass) {
  // Not x and w, which are there anyway, nor the weight's copy; y is read by the optimizer alone; loss twice by one op.
  EXPECT_THAT(Text(Step("backward/net")), ElementsAre("z: g g2", "loss: d"));
}

TEST(Kept, PhasesAreToldByScopes) {
  EXPECT_TRUE(HasBackward(Step("backward")));
  EXPECT_FALSE(HasBackward(Step("backwards")));
  EXPECT_THAT(Text(Step("backwards")), ElementsAre());
}

TEST(Kept, CapturesOfBodiesAreRead) {
  Graph graph = Step("backward");
  Op& op = graph.ops[5];  // g
  ASSERT_EQ(op.name, "g");
  op.captures.push_back(op.inputs[1]);
  op.inputs.pop_back();
  EXPECT_THAT(Text(graph), ElementsAre("z: g g2", "loss: d"));
}

}  // namespace
}  // namespace sbp
