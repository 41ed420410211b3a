// Attention that is spelled out, under a mask of which nothing is known: the operator where it saves repeated heads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "simplify/simplify.h"

namespace sbp::simplify {
namespace {

using ::testing::ElementsAre;

// A step of decoding as torch.onnx writes it: one query of eight heads, five keys before its own.
struct Decoding {
  int64_t key_heads = 2;
  bool guarded = true, shows_key = false, shows_scores = false;
  double hidden = -std::numeric_limits<double>::infinity();
};

class Spelling {
 public:
  Graph Make(const Decoding& decoding) {
    const int64_t heads = decoding.key_heads;
    Number("scale", 0.5);
    Number("zero", 0);
    Number("hidden", decoding.hidden);
    builder_.AddInput("q", {DType::kF32, {3, 8, 1, 4}});
    builder_.AddInput("seen", {DType::kBool, {3, 1, 1, 6}});
    for (const std::string name : {"k", "v"}) {
      builder_.AddInput("past_" + name, {DType::kF32, {3, heads, 5, 4}});
      builder_.AddInput("new_" + name, {DType::kF32, {3, heads, 1, 4}});
      Op("Concat", {"past_" + name, "new_" + name}, "present_" + name, {3, heads, 6, 4}, "axis", int64_t{2});
      if (heads < 8) Repeat(name, heads);
    }
    const std::string k = heads < 8 ? "all_k" : "present_k", v = heads < 8 ? "all_v" : "present_v";
    Reshape(k, "packed_k", {24, 6, 4});
    Op("Transpose", {"packed_k"}, "packed_turned", {24, 4, 6}, "perm", std::vector<int64_t>{0, 2, 1});
    Reshape("packed_turned", "turned", {3, 8, 4, 6});
    Op("Mul", {"q", "scale"}, "scaled_q", {3, 8, 1, 4});
    Op("Mul", {"turned", "scale"}, "scaled_k", {3, 8, 4, 6});
    Op("MatMul", {"scaled_q", "scaled_k"}, "scores", {3, 8, 1, 6});
    Op("Where", {"seen", "zero", "hidden"}, "mask", {3, 1, 1, 6});
    Op("Add", {"scores", "mask"}, "masked", {3, 8, 1, 6});
    Op("Softmax", {"masked"}, "weights", {3, 8, 1, 6}, "axis", int64_t{-1});
    if (decoding.guarded) {
      Op("IsNaN", {"weights"}, "empty", {3, 8, 1, 6}, DType::kBool);
      Op("Where", {"empty", "zero", "weights"}, "guarded", {3, 8, 1, 6});
    }
    Op("MatMul", {decoding.guarded ? "guarded" : "weights", v}, "y", {3, 8, 1, 4});
    for (const std::string_view name : {"y", "present_k", "present_v"}) builder_.AddOutput(name);
    if (decoding.shows_key) builder_.AddOutput("all_k");
    if (decoding.shows_scores) builder_.AddOutput("scores");
    Result<Graph> graph = builder_.Build("test");
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    Simplify(*graph);
    return *std::move(graph);
  }

 private:
  void Number(std::string_view name, double value) {
    const auto literal = std::make_shared<const Literal>(Literal::Float(value));
    builder_.AddParameter(name, literal->type, literal);
  }
  void Op(std::string_view type, const std::vector<std::string>& inputs, const std::string& output, Shape shape,
          DType dtype = DType::kF32) {
    builder_.AddOp(type, output, inputs, {output});
    builder_.DescribeTensor(output, {dtype, std::move(shape)});
  }
  template <typename Value>
  void Op(std::string_view type, const std::vector<std::string>& inputs, const std::string& output, Shape shape,
          const std::string& attribute, Value value) {
    Attributes attributes;
    attributes.Set(attribute, std::move(value));
    builder_.AddOp(type, output, inputs, {output}, attributes);
    builder_.DescribeTensor(output, {DType::kF32, std::move(shape)});
  }
  std::string Ints(const std::string& name, std::vector<int64_t> values) {
    const auto literal = std::make_shared<const Literal>(Literal::Ints(std::move(values)));
    builder_.AddParameter(name, literal->type, literal);
    return name;
  }
  void Reshape(const std::string& from, const std::string& to, const Shape& shape) {
    Op("Reshape", {from, Ints("shape_of_" + to, shape)}, to, shape);
  }
  // Each head for those of its group.
  void Repeat(const std::string& name, int64_t heads) {
    const Shape shape = {3, heads, 8 / heads, 6, 4};
    Op("Unsqueeze", {"present_" + name, Ints("axis_of_" + name, {2})}, "one_" + name, {3, heads, 1, 6, 4});
    Op("Expand", {"one_" + name, Ints("times_of_" + name, shape)}, "each_" + name, shape);
    Reshape("each_" + name, "all_" + name, {3, 8, 6, 4});
  }

  GraphBuilder builder_;
};

// The names of operands of the operator; none: the spelling stays.
std::vector<std::string> OperandsOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) {
    if (graph.type_of(op) != "Attention") continue;
    for (const TensorId id : op.inputs) names.push_back(graph.tensor(id).name);
    EXPECT_DOUBLE_EQ(op.attributes->Float("scale", 0), 0.25);
  }
  return names;
}
std::vector<std::string> OperandsOf(const Decoding& decoding) { return OperandsOf(Spelling().Make(decoding)); }

TEST(SpelledAttentionTest, ReadsEachHeadOfACacheOnce) {
  const Graph graph = Spelling().Make({});
  EXPECT_THAT(OperandsOf(graph), ElementsAre("q", "present_k", "present_v", "mask"));
  std::vector<std::string> types;
  for (const Op& op : graph.ops) types.push_back(graph.type_of(op));
  EXPECT_THAT(types, ElementsAre("Concat", "Concat", "Where", "Attention"));
}

TEST(SpelledAttentionTest, WhatOthersReadStays) {
  EXPECT_THAT(OperandsOf({.shows_key = true}), ElementsAre("q", "present_k", "present_v", "mask"));
  EXPECT_THAT(OperandsOf({.shows_scores = true}), ElementsAre());
}

TEST(SpelledAttentionTest, AMaskStaysWhereNoHeadIsRepeated) {
  EXPECT_THAT(OperandsOf({.key_heads = 8}), ElementsAre());
}

// A row of which no key is seen is 0 of the operator.
TEST(SpelledAttentionTest, ARowThatWouldBeNoNumberStays) {
  EXPECT_THAT(OperandsOf({.guarded = false}), ElementsAre());
  EXPECT_THAT(OperandsOf({.guarded = false, .hidden = -1e9}), ElementsAre("q", "present_k", "present_v", "mask"));
}

}  // namespace
}  // namespace sbp::simplify
