#include "rule/in_place.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "rule/rule_set.h"
#include "unit/rule/ask.h"

namespace sbp {
namespace {

using testing::Ask;
using testing::Question;

LiteralRef Ints(std::vector<int64_t> values) {
  Literal literal;
  literal.type = {DType::kI64, {static_cast<int64_t>(values.size())}};
  literal.ints = std::move(values);
  return std::make_shared<const Literal>(std::move(literal));
}

// "0<0" result 0 over operand 0; "0~1" where they are alike and no more.
std::string Pairs(const Question& question) {
  const RuleSet rules = *RuleSet::Builtin();
  const auto instance = Ask(rules, question);
  if (!instance.ok()) return instance.status().message();
  std::string text;
  for (const InPlacePair& pair : InPlacePairs(**instance)) {
    text += StrCat(text.empty() ? "" : " ", pair.result, pair.elementwise ? "<" : "~", pair.operand);
  }
  return text;
}

TEST(InPlace, ElementwiseOps) {
  EXPECT_EQ(Pairs({"Relu", {"f32[4,6]"}}), "0<0");
  EXPECT_EQ(Pairs({"Exp", {"f32[4,6]"}}), "0<0");
  EXPECT_EQ(Pairs({"Add", {"f32[4,6]", "f32[4,6]"}}), "0<0 0<1");
  EXPECT_EQ(Pairs({"Add", {"f32[4,6]", "f32[6]"}}), "0<0");  // each element of a row is read four times
  EXPECT_EQ(Pairs({"Add", {"f32[6]", "f32[4,6]"}}), "0<1");
  EXPECT_EQ(Pairs({"Where", {"bool[4,6]", "f32[4,6]", "f32[4,6]"}}), "0<1 0<2");  // elements of another size
  EXPECT_EQ(Pairs({"Relu", {"f32[]"}}), "0<0");
}

TEST(InPlace, Casts) {
  EXPECT_EQ(Pairs({"Cast", {"f32[4,6]"}, {{"to", int64_t{6}}}}), "0<0");  // i32
  EXPECT_EQ(Pairs({"Cast", {"f32[4,6]"}, {{"to", int64_t{16}}}}), "");    // bf16
}

TEST(InPlace, OtherShapes) {
  EXPECT_EQ(Pairs({"Reshape", {"f32[4,6]", "i64[3]"}, {}, {true}, {}, false, {nullptr, Ints({4, 2, 3})}}), "0<0");
  EXPECT_EQ(Pairs({"Unsqueeze", {"f32[4,6]", "i64[1]"}, {}, {true}, {}, false, {nullptr, Ints({1})}}), "0<0");
  EXPECT_EQ(Pairs({"Transpose", {"f32[4,4]"}}), "");
}

TEST(InPlace, WhatReadsOtherElements) {
  EXPECT_EQ(Pairs({"Softmax", {"f32[4,6]"}}), "0~0");
  EXPECT_EQ(Pairs({"MatMul", {"f32[4,4]", "f32[4,4]"}}), "");
  EXPECT_EQ(Pairs({"ScatterElements", {"f32[4,6]", "i64[4,6]", "f32[4,6]"}}), "0~0");
  EXPECT_EQ(Pairs({"CumSum", {"f32[4,6]", "i64[]"}, {}, {true}, {}, false, {nullptr, Ints({1})}}), "");
}

TEST(InPlace, StatesOfOptimizers) {
  const std::string matrix = "f32[4,6]";
  const Question step{"sbp::AdamW", {matrix, matrix, "f32[]", "i64[]", "", matrix, matrix}, {}, {true, true, true}};
  EXPECT_EQ(Pairs(step).substr(0, 3), "0<0");
}

}  // namespace
}  // namespace sbp
