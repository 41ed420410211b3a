// `rule as Op(...)`: an op takes the rule of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/rule/ask.h"

namespace sbp {
namespace {

using testing::Ask;
using testing::CandidatesOf;
using testing::Question;

constexpr char kBaseRules[] = R"(
op Dot(Tensor<float> a, Tensor<a> b, Tensor<a> c?, *, int scale=1) -> Tensor y
  rule m k, k n, n -> m n ; reduce sum k ; addend c ; linear {a, c} | {b, c} ; when scale == 1
  rule m k, k n, n -> m n ; reduce sum k
op Pick(Tensor x, Tensor<i64> n) -> Tensor y
  rule a, -> b ; size b = value(n)
op Rows(Tensor[] inputs, *, int[] order?) -> Tensor y
  rule a b -> a b
)";

std::string With(const std::string& op) { return kBaseRules + op; }

TEST(Inherit, TheSameComputationPassesSums) {
  EXPECT_EQ(
      CandidatesOf(With("op F(Tensor u, Tensor v) -> Tensor w\n  rule as Dot(u, v)\n"), {"F", {"f32[4,6]", "f32[6,8]"}},
                   "x=2"),
      "S(0), B -> S(0)\nB, S(1) -> S(1)\nS(1), S(0) -> P(sum)\nP(sum), B -> P(sum)\nB, P(sum) -> P(sum)\nB, B -> B\n");
}

TEST(Inherit, FurtherOperandsStayWholeAndHoldUpSums) {
  EXPECT_EQ(CandidatesOf(With("op F(Tensor s, Tensor u, Tensor v) -> Tensor w\n  rule as Dot(u, v)\n"),
                         {"F", {"f32[]", "f32[4,6]", "f32[6,8]"}}, "x=2"),
            "B, S(0), B -> S(0)\nB, B, S(1) -> S(1)\nB, S(1), S(0) -> P(sum)\nB, B, B -> B\n");
}

TEST(Inherit, NonlinearKeepsWhatIsSummedWhole) {
  EXPECT_EQ(CandidatesOf(With("op F(Tensor u, Tensor v) -> Tensor w\n  rule as Dot(u, v) ; nonlinear\n"),
                         {"F", {"f32[4,6]", "f32[6,8]"}}, "x=2"),
            "S(0), B -> S(0)\nB, S(1) -> S(1)\nB, B -> B\n");
}

TEST(Inherit, QuantisedOperandsStandForRealNumbers) {
  const std::string rules = With(
      "op Q(Tensor<int> u, Tensor<int> v, Tensor<i32> c?, Tensor<float> s) -> Tensor<u8> w\n"
      "  rule as Dot(u, v, c) ; nonlinear ; along v[1]: s\n");
  // Of differing types, which Dot itself refuses.
  EXPECT_EQ(CandidatesOf(rules, {"Q", {"u8[4,6]", "i8[6,8]", "i32[8]", "f32[8]"}}, "x=2"),
            "S(0), B, B, B -> S(0)\nB, S(1), S(0), S(0) -> S(1)\nB, B, B, B -> B\n");
  EXPECT_EQ(CandidatesOf(rules, {"Q", {"u8[4,6]", "i8[6,8]", "", "f32[1,8]"}}, "x=2"),
            "S(0), B, B, B -> S(0)\nB, S(1), B, S(1) -> S(1)\nB, B, B, B -> B\n");
  EXPECT_EQ(ToString((*Ask(rules, {"Q", {"u8[4,6]", "i8[6,8]", "", "f32[]"}}))->results[0]), "u8[4,8]");
  EXPECT_EQ(CandidatesOf(rules, {"Q", {"u8[4,6]", "i8[6,8]", "", "f32[4]"}}, "x=2"),
            "error: Q(): 's' must have one entry, or one along dimension 1 of v i8[6,8], but is f32[4]");
  EXPECT_EQ(CandidatesOf(rules, {"Q", {"u8[4,6]", "i8[5,8]", "", "f32[]"}}, "x=2").substr(0, 18), "error: Q(): as: Do");
}

TEST(Inherit, AlongAResultAddsATensorOfItsShape) {
  const std::string rules = With(
      "op F(Tensor u, Tensor v, Tensor z?) -> Tensor w\n"
      "  rule as Dot(u, v) ; along w: z ; addend z ; linear {u, z} | {v, z}\n");
  EXPECT_EQ(CandidatesOf(rules, {"F", {"f32[4,6]", "f32[6,8]", "f32[4,8]"}}, "x=2"),
            "S(0), B, S(0) -> S(0)\nB, S(1), S(1) -> S(1)\nS(1), S(0), P(sum) -> P(sum)\n"
            "P(sum), B, P(sum) -> P(sum)\nB, P(sum), P(sum) -> P(sum)\nB, B, B -> B\n");
  EXPECT_EQ(CandidatesOf(rules, {"F", {"f32[4,6]", "f32[6,8]", "f32[8]"}}, "x=2"),
            "error: F(): 'z' must be shaped like w [4,8], but is f32[8]");
}

TEST(Inherit, WholeKeepsAllThatAnOperandCarries) {
  EXPECT_EQ(CandidatesOf(With("op F(Tensor u, Tensor v) -> Tensor w\n  rule as Dot(u, v) ; whole u ; nonlinear\n"),
                         {"F", {"f32[4,6]", "f32[6,8]"}}, "x=2"),
            "B, S(1) -> S(1)\nB, B -> B\n");
}

TEST(Inherit, AttributesChooseTheLine) {
  const std::string rules = With(
      "op F(Tensor u, Tensor v, *, int scale=2, int s=1) -> Tensor w\n  rule as Dot(u, v, *) ; when s == 1\n"
      "  rule as Dot(u, v, scale=s - 1)\n");
  const std::string split = "S(0), B -> S(0)\nB, S(1) -> S(1)\nS(1), S(0) -> P(sum)\n", whole = "B, B -> B\n";
  const std::string linear = "P(sum), B -> P(sum)\nB, P(sum) -> P(sum)\n";
  const std::vector<std::string> operands = {"f32[4,6]", "f32[6,8]"};
  EXPECT_EQ(CandidatesOf(rules, {"F", operands}, "x=2"), split + whole);
  EXPECT_EQ(CandidatesOf(rules, {"F", operands, {{"scale", int64_t{1}}}}, "x=2"), split + linear + whole);
  EXPECT_EQ(CandidatesOf(rules, {"F", operands, {{"s", int64_t{2}}}}, "x=2"), split + linear + whole);
  EXPECT_EQ(CandidatesOf(rules, {"F", operands, {{"s", int64_t{3}}}}, "x=2"), split + whole);
}

TEST(Inherit, ValuesThatTheOtherOpReadsAreRead) {
  RuleSet rules;
  ASSERT_TRUE(rules
                  .Add(With("op F(Tensor<i64> k, Tensor u) -> Tensor w\n  rule as G(u, k)\n"
                            "op G(Tensor u, Tensor<i64> k) -> Tensor w\n  rule as Pick(u, k)\n"),
                       "f")
                  .ok());
  EXPECT_TRUE(rules.ReadsValue("F", 0));
  EXPECT_FALSE(rules.ReadsValue("F", 1));
  const Question question{
      .op = "F",
      .operands = {"i64[]", "f32[8]"},
      .values = {std::make_shared<Literal>(Literal{.type = ParseTensorType("i64[]").value(), .ints = {3}})}};
  const Result<RuleInstanceRef> instance = Ask(rules, question);
  ASSERT_TRUE(instance.ok()) << instance.status().message();
  EXPECT_EQ(ToString((*instance)->results[0]), "i64[3]");
}

TEST(Inherit, VariadicOperandsAreHandedOn) {
  EXPECT_EQ(CandidatesOf(With("op F(Tensor s, Tensor[] more) -> Tensor w\n  rule as Rows(more)\n"),
                         {"F", {"f32[]", "f32[4,6]", "f32[4,6]"}}, "x=2"),
            "B, S(0), S(0) -> S(0)\nB, S(1), S(1) -> S(1)\nB, B, B -> B\n");
}

TEST(Inherit, SaysWhatIsWrongWhereItStands) {
  struct Row {
    std::string text, message;
  };
  const Row rows[] = {
      {"op F(Tensor u) -> Tensor w\n  rule as Dott(u)\n", "f:2:11: unknown op \"Dott\" (did you mean \"Dot\"?)"},
      {"op F(Tensor u) -> Tensor w\n  rule as Pick(u, u, u)\n", "f:2:11: Pick takes 2 operands, not 3"},
      {"op F(Tensor u) -> Tensor w\n  rule as Dot(u, u, scal=1)\n",
       "f:2:11: Dot has no attribute \"scal\" (did you mean \"scale\"?)"},
      {"op F(Tensor u) -> Tensor w\n  rule as F(u)\n", "f:2:11: op F takes the rule of F, which takes that of F"},
      {"op F(Tensor u) -> Tensor w\n  rule as G(u)\nop G(Tensor u) -> Tensor w\n  rule as F(u)\n",
       "f:4:11: op G takes the rule of F, which takes that of G in turn"},
  };
  for (const Row& row : rows) {
    RuleSet rules;
    ASSERT_TRUE(rules.Add(kBaseRules, "base").ok());
    const size_t before = rules.ops().size();
    EXPECT_EQ(rules.Add(row.text, "f").message(), row.message);
    EXPECT_EQ(rules.ops().size(), before);  // a file with an error adds nothing
  }
}

}  // namespace
}  // namespace sbp
