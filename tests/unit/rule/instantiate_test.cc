#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/rule/ask.h"

namespace sbp {
namespace {

using testing::Ask;
using testing::Question;

constexpr char kRules[] = R"(
op Relu(Tensor x) -> Tensor y
  rule ... -> ...
op Pow(Tensor input, Tensor exponent) -> Tensor y
  rule ..., ... -> ...
op Pow(Tensor input, Scalar exponent, *, bool inplace=false) -> Tensor y
  rule ... -> ...
op Typed(Tensor<float> x, *, int axis=-1, float[] scales?, string mode) -> Tensor y
  rule ... -> ...
)";

struct ErrorRow {
  Question question;
  std::string message;
};

TEST(Overloads, SayWhichArgumentMustBeWhat) {
  const ErrorRow rows[] = {
      {{"Relu", {}, {{"x", int64_t{1}}}}, "Relu(): argument 'x' must be tensor, not int"},
      {{"Relu", {}}, "Relu(): missing required argument 'x' (Tensor)"},
      {{"Relu", {"f32[2]", "f32[2]"}}, "Relu(): takes 1 tensor argument, but 2 were given"},
      {{"Relu", {"f32[2]"}, {}, {true, true}}, "Relu(): has 1 result, but 2 are used"},
      {{"Typed", {"i64[2]"}, {{"mode", "a"}}}, "Typed(): argument 'x' must be float tensor, not i64 tensor"},
      {{"Typed", {"f32[2]"}}, "Typed(): missing required attribute 'mode' (string)"},
      {{"Typed", {"f32[2]"}, {{"mode", int64_t{3}}}}, "Typed(): argument 'mode' must be string, not int 3"},
      {{"Typed", {"f32[2]"}, {{"mode", "a"}, {"axsi", int64_t{3}}}},
       "Typed(): unknown attribute 'axsi' (did you mean \"axis\"?)"},
      {{"Pow", {"", ""}, {{"exponent", "abc"}}},
       "Pow(): received an invalid combination of arguments. The valid signatures are:\n"
       "  *0: Tensor (Tensor input, Tensor exponent)\n"
       "  *1: Tensor (Tensor input, Scalar exponent, *, bool inplace=0)\n"
       "  received: (absent, absent, exponent=\"abc\")"},
  };
  for (const ErrorRow& row : rows) {
    Result<RuleInstanceRef> instance = Ask(kRules, row.question);
    ASSERT_FALSE(instance.ok()) << row.message;
    EXPECT_EQ(instance.status().message(), row.message);
    EXPECT_EQ(instance.status().code(), Code::kBadInput);
  }
}

TEST(Overloads, ScalarIsAnAttributeOrAnOperandOfRankZero) {
  EXPECT_TRUE(Ask(kRules, {"Pow", {"f32[2,3]"}, {{"exponent", 2.0}}}).ok());
  EXPECT_TRUE(Ask(kRules, {"Pow", {"f32[2,3]", "f32[]"}}).ok());
  EXPECT_TRUE(Ask(kRules, {"Pow", {"f32[2,3]", "f32[]"}, {{"inplace", int64_t{1}}}}).ok());
  EXPECT_FALSE(Ask(kRules, {"Pow", {"f32[2,3]", "f32[3]"}, {{"inplace", int64_t{1}}}, {true}, {}, true}).ok());
}

TEST(Overloads, UnknownAttributesOfFilesAreNoted) {
  Question question{"Relu", {"f32[2]"}, {{"_private", int64_t{1}}, {"vendor_hint", int64_t{1}}}};
  Result<RuleInstanceRef> instance = Ask(kRules, question);
  ASSERT_TRUE(instance.ok()) << instance.status().message();
  EXPECT_THAT((*instance)->ignored_attributes, ::testing::ElementsAre("vendor_hint"));
  question.strict = true;
  EXPECT_EQ(Ask(kRules, question).status().message(), "Relu(): unknown attribute 'vendor_hint'");
}

TEST(Instantiate, UnknownValuesKeepAnOpWholeWhereResultsAreStated) {
  const char* rules = "op Pick(Tensor x, Scalar n) -> Tensor y\n  rule a -> b ; size b = value(n)\n";
  Question question{"Pick", {"f32[8]", "i64[]"}};
  EXPECT_THAT(Ask(rules, question).status().message(), ::testing::HasSubstr("must be known, and is not"));
  question.stated = {ParseTensorType("f32[3]").value()};
  const Result<RuleInstanceRef> instance = Ask(rules, question);
  ASSERT_TRUE(instance.ok()) << instance.status().message();
  EXPECT_TRUE((*instance)->replicate_only);
  EXPECT_EQ((*instance)->reason, "the value of operand 1 of Pick is not known before it runs");
  EXPECT_EQ(ToString((*instance)->results[0]), "f32[3]");
}

struct DumpRow {
  std::string rules;
  Question question;
  std::string dump;
};

TEST(Instantiate, MakesFactorsShapesAndClauses) {
  const DumpRow rows[] = {
      {"op MatMul(Tensor a, Tensor b) -> Tensor y\n  rule ... m k, ... k n -> ... m n ; reduce sum k ; linear a | b",
       {"MatMul", {"bf16[1,8,16,32]", "bf16[4,1,32,64]"}},
       "MatMul(a: bf16[1,8,16,32], b: bf16[4,1,32,64]) -> y: bf16[4,8,16,64]\n"
       "  1 d1 m k, d0 1 k n -> d0 d1 m n\n"
       "  factor d0 = 4\n  factor d1 = 8\n  factor m = 16\n  factor k = 32\n  factor n = 64\n"
       "  reduce sum k\n  linear {a}\n  linear {b}\n  flops 2097152\n"},
      {"op Heads(Tensor x, *, int heads, int block=8) -> Tensor y\n"
       "  rule b (h d*block) -> b h d! ; size h = heads ; linear x ; monotone x",
       {"Heads", {"f32[2,96]"}, {{"heads", int64_t{6}}}},
       "Heads(x: f32[2,96]) -> y: f32[2,6,16]\n  b (h d) -> b h d\n"
       "  factor b = 2\n  factor h = 6\n  factor d = 16 * 8 whole\n  linear {x}\n  monotone {x}\n  flops 192\n"},
      // Absent optional operands, variadic ones, results that nobody uses, types by name.
      {"op Many(Tensor[] xs, *, type to) -> Tensor<to> y, Tensor<bool> z\n"
       "  rule a b -> a b, b ; reduce max a -> z ; linear xs -> y",
       {"Many", {"f32[2,3]", "f32[2,3]"}, {{"to", int64_t{10}}}, {true, false}},
       "Many(xs[0]: f32[2,3], xs[1]: f32[2,3]) -> y: f16[2,3], z: absent\n  a b, a b -> a b, \n"
       "  factor a = 2\n  factor b = 3\n  linear {xs[0], xs[1]} -> y\n  flops 6\n"},
      // P(sum) of a bool tensor does not exist; its P(max) is "or".
      {"op Not(Tensor<bool> x) -> Tensor y\n  rule ... -> ... ; linear x ; antitone x",
       {"Not", {"bool[4]"}},
       "Not(x: bool[4]) -> y: bool[4]\n  d0 -> d0\n  factor d0 = 4\n  antitone {x}\n  flops 4\n"},
      // Conditions choose the line; flops are an expression over factors and results.
      {"op Pick(Tensor x, *, int[] axes=[1]) -> Tensor y\n  flops 3 * count(y) + size(a)\n"
       "  rule a b -> a ; reduce sum b ; when at(axes, 0) == 0\n  rule a b -> b ; reduce sum a ; when size(a) > 100\n"
       "  rule a b! -> a b",
       {"Pick", {"f32[5,7]"}},
       "Pick(x: f32[5,7]) -> y: f32[5,7]\n  a b -> a b\n  factor a = 5\n  factor b = 7 whole\n  flops 110\n"},
      {"op Source(*, int n) -> Tensor<f16> y\n  rule -> f 3 ; size f = n * 2 ; aware f",
       {"Source", {}, {{"n", int64_t{4}}}},
       "Source() -> y: f16[8,3]\n   -> f 3\n  factor f = 8 aware\n  flops 24\n"},
      {"op Whole(Tensor x) -> Tensor y\n  rule ...! -> ... ; because \"an order over all\"",
       {"Whole", {"f32[8]"}},
       "Whole(x: f32[8]) -> y: f32[8]\n  d0 -> d0\n  factor d0 = 8 whole\n  because \"an order over all\"\n  flops 8\n"
       "  replicate only\n  reason \"an order over all\"\n"},
  };
  for (const DumpRow& row : rows) {
    Result<RuleInstanceRef> instance = Ask(row.rules, row.question);
    ASSERT_TRUE(instance.ok()) << instance.status().message();
    EXPECT_EQ(Dump(**instance), row.dump);
  }
}

TEST(Instantiate, SaysWhatDoesNotFit) {
  const ErrorRow rows[] = {
      {{"A", {"f32[16,32]", "f32[31,64]"}},
       "A(): sizes of k differ: 32 in 'a' (dimension 1 of f32[16,32]), 31 in 'b' (dimension 0 of f32[31,64])"},
      {{"A", {"f32[16]", "f32[31,64]"}}, "A(): argument 'a' must have rank 2 or more, not 1 (f32[16])"},
      {{"A", {"f32[3,1,1]", "f32[2,1,1]"}},
       "A(): dimensions do not fit: 3 in 'a' (dimension 0 of f32[3,1,1]), 2 in 'b' (dimension 0 of f32[2,1,1])"},
      {{"H", {"f32[10]"}, {{"heads", int64_t{3}}}}, "H(): dimension 0 of 'x' (10) is not divisible by 3"},
      {{"H", {"f32[10]"}, {{"heads", int64_t{0}}}}, "H(): dimension 0 of 'x' (10) is not divisible by 0"},
      {{"H", {"f32[10]"}, {{"heads", int64_t{-2}}}}, "H(): the size of h would be -2"},
      {{"N", {"f32[4,4]"}}, "N(): dimension 1 of 'x' must be 3, not 4 (f32[4,4])"},
      {{"N", {"f32[4,?]"}}, "N(): the shape of argument 'x' is not known (f32[4,?])"},
      {{"Big", {"f32[4]"}}, "Big(): dimension 0 of the result is too large"},
  };
  const std::string rules = R"(
op A(Tensor a, Tensor b) -> Tensor y
  rule ... m k, ... k n -> ... m n ; reduce sum k ; linear a | b
op H(Tensor x, *, int heads) -> Tensor y
  rule (h d) -> h d ; size h = heads
op N(Tensor x) -> Tensor y
  rule a 3 -> a
op Big(Tensor x) -> Tensor y
  rule a -> (a f g) ; size f = 4000000000 ; size g = 4000000000
)";
  for (const ErrorRow& row : rows) {
    Result<RuleInstanceRef> instance = Ask(rules, row.question);
    ASSERT_FALSE(instance.ok()) << row.message;
    EXPECT_EQ(instance.status().message(), row.message);
  }
}

TEST(Instantiate, UnknownOpsAreReplicatedWithTheStatedTypes) {
  RuleSet rules;
  Question question{"acme::New", {"f32[4]"}, {}, {true}, {*ParseTensorType("f16[7]")}};
  Result<RuleInstanceRef> instance = Ask(rules, question);
  ASSERT_TRUE(instance.ok());
  EXPECT_TRUE((*instance)->missing_rule);
  EXPECT_EQ(ToString((*instance)->results[0]), "f16[7]");
  EXPECT_EQ((*instance)->reason, "no rule for acme::New");
}

TEST(RuleSet, KnowsWhichValuesAreRead) {
  RuleSet rules;
  ASSERT_TRUE(
      rules
          .Add("op A(Tensor x, Tensor<i64> n, Tensor m?) -> Tensor y\n  rule f, _, ... -> f g ; size g = value(n, 0)",
               "f")
          .ok());
  EXPECT_FALSE(rules.ReadsValue("A", 0));
  EXPECT_TRUE(rules.ReadsValue("A", 1));
  EXPECT_FALSE(rules.ReadsValue("A", 2));
  EXPECT_FALSE(rules.ReadsValue("B", 0));
  auto two = std::make_shared<Literal>(Literal::Ints({2}));
  Question question{"A", {"f32[3]", "i64[1]"}};
  question.values = {nullptr, two};
  Result<RuleInstanceRef> instance = Ask(rules, question);
  ASSERT_TRUE(instance.ok()) << instance.status().message();
  EXPECT_EQ(ToString((*instance)->results[0]), "f32[3,2]");
}

}  // namespace
}  // namespace sbp
