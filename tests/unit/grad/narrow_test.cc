#include "grad/narrow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "grad/grad.h"
#include "grad/retype.h"
#include "graph/builder.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const RuleSet& NarrowRules() {
  static const RuleSet* rules = new RuleSet(RuleSet::Builtin().value());
  return *rules;
}

TensorType TypeNamed(const std::string& text) { return ParseTensorType(text).value(); }

// Two products with weights, and a head; `mixes`: and one of activations alone between them.
Graph Perceptron(bool mixes) {
  GraphBuilder builder("perceptron");
  builder.AddInput("x", TypeNamed("f32[8,8]"));
  for (const char* name : {"w1", "w2", "w3"}) builder.AddParameter(name, TypeNamed("f32[8,8]"));
  for (const char* name : {"h1", "a1", "s", "h2", "y"}) builder.DescribeTensor(name, TypeNamed("f32[8,8]"));
  builder.AddOp("MatMul", "first", {"x", "w1"}, {"h1"}, {}, "first");
  builder.AddOp("Relu", "act", {"h1"}, {"a1"}, {}, "first");
  if (mixes) builder.AddOp("MatMul", "scores", {"a1", "a1"}, {"s"}, {}, "mix");
  builder.AddOp("MatMul", "second", {mixes ? "s" : "a1", "w2"}, {"h2"}, {}, "second");
  builder.AddOp("MatMul", "head", {"h2", "w3"}, {"y"}, {}, "head");
  builder.AddOutput("y");
  return builder.Build("perceptron").value();
}

Graph Trained(bool mixes) {
  GradRequest request{.loss = "mse:y", .compute = "fp8"};
  request.update.optimizer.optimizer = "sgd";
  return MakeGradGraph(Perceptron(mixes), NarrowRules(), request).value().graph;
}

// "NAME(TYPE, TYPE) -> TYPE" of the ops of a type.
std::vector<std::string> TypedOps(const Graph& graph, const std::string& type) {
  const auto element = [&](TensorId id) { return std::string(DTypeName(graph.tensor(id).type.dtype)); };
  std::vector<std::string> ops;
  for (const Op& op : graph.ops) {
    if (graph.type_of(op) != type) continue;
    std::vector<std::string> inputs;
    for (const TensorId id : op.inputs) inputs.push_back(element(id));
    ops.push_back(StrCat(op.name, "(", Join(inputs, ", "), ") -> ", element(op.outputs[0])));
  }
  return ops;
}

// Of the first product no cotangent of its input is asked for; that of the second's is one of wide range.
TEST(NarrowProducts, ReadEightBitsInBothPassesButForTheHead) {
  const Graph graph = Trained(false);
  EXPECT_THAT(TypedOps(graph, "sbp::NarrowEinsum"),
              UnorderedElementsAre("first(f8e4m3fn, f8e4m3fn) -> bf16", "second(f8e4m3fn, f8e4m3fn) -> bf16",
                                   "backward/second/d.a(f8e5m2, f8e4m3fn) -> bf16",
                                   "backward/second/d.b(f8e4m3fn, f8e5m2) -> bf16",
                                   "backward/first/d.b(f8e4m3fn, f8e5m2) -> bf16"));
  EXPECT_EQ(TypedOps(graph, "MatMul").size(), 3u);  // of the head
}

TEST(NarrowProducts, OneCastATensor) {
  const Graph graph = Trained(false);
  std::vector<std::string> narrow;
  for (const Op& op : graph.ops) {
    if (graph.type_of(op) == "Cast" && op.name.starts_with("narrow/")) narrow.push_back(op.name);
  }
  std::ranges::sort(narrow);
  EXPECT_EQ(std::ranges::adjacent_find(narrow), narrow.end());
  EXPECT_EQ(std::ranges::count(narrow, "narrow/compute/w2"), 1);  // of w2, transposed behind it
}

TEST(NarrowProducts, WhatAGemmAddsStaysWide) {
  GraphBuilder builder("gemm");
  builder.AddInput("x", TypeNamed("f32[8,4]"));
  builder.AddParameter("w", TypeNamed("f32[6,4]"));
  builder.AddParameter("b", TypeNamed("f32[6]"));
  builder.AddParameter("v", TypeNamed("f32[6,2]"));
  builder.DescribeTensor("h", TypeNamed("f32[8,6]"));
  builder.DescribeTensor("y", TypeNamed("f32[8,2]"));
  Attributes turned;
  turned.Set("transB", int64_t{1});
  builder.AddOp("Gemm", "gemm", {"x", "w", "b"}, {"h"}, turned);
  builder.AddOp("MatMul", "head", {"h", "v"}, {"y"});
  builder.AddOutput("y");
  const Graph graph = RetypeModel(builder.Build("gemm").value(), "fp8", NarrowRules()).value();
  EXPECT_THAT(TypedOps(graph, "sbp::NarrowEinsum"), ElementsAre("gemm/product(f8e4m3fn, f8e4m3fn) -> bf16"));
  EXPECT_THAT(TypedOps(graph, "Add"), ElementsAre("gemm(bf16, bf16) -> bf16"));
  EXPECT_THAT(TypedOps(graph, "MatMul"), ElementsAre("head(bf16, bf16) -> bf16"));
  EXPECT_EQ(graph.ops.front().attributes->Int("transB", 0), 0);
  for (const Tensor& tensor : graph.tensors) {
    EXPECT_TRUE(tensor.name != "w" || tensor.type.dtype == DType::kF8E4M3FN);  // stored so
    EXPECT_TRUE(tensor.name != "b" || tensor.type.dtype == DType::kBF16);
  }
  EXPECT_FALSE(RetypeModel(graph, "bf16", NarrowRules()).ok());  // no weight is f32 any more
}

TEST(NarrowProducts, OfActivationsAloneStayWide) {
  for (const std::string& op : TypedOps(Trained(true), "sbp::NarrowEinsum")) {
    EXPECT_THAT(op, ::testing::Not(HasSubstr("scores")));
  }
}

TEST(NarrowProducts, OpsStandInOrder) {
  const Graph graph = Trained(true);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    for (const TensorId id : graph.ops[o].inputs) {
      const OpId producer = id.valid() ? graph.tensor(id).producer : OpId();
      EXPECT_TRUE(!producer.valid() || producer.index() < o) << graph.ops[o].name;
    }
  }
}

}  // namespace
}  // namespace sbp
