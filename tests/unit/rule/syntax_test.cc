#include "rule/syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "rule/rule_set.h"

namespace sbp {
namespace {

// The paragraphs of the definitions: what users read first must parse as it stands.
constexpr char kDefinitions[] = R"(op MatMul(Tensor a, Tensor b) -> Tensor y
  rule ... m k, ... k n -> ... m n ; reduce sum k ; linear a | b

op Gemm(Tensor a, Tensor b, Tensor c?, *, ...) -> Tensor y
  rule m k, k n, m n -> m n ; reduce sum k ; addend c ; linear {a, c} | {b, c}     # transposes by attribute, left out here

op Add(Tensor x, Tensor y) -> Tensor z
  rule ..., ... -> ... ; linear {x, y}            # jointly: (P, P) -> P

op Relu(Tensor x) -> Tensor y
  rule ... -> ... ; monotone x                    # P(max) and P(min) pass through

op LayerNormalization(Tensor x, Tensor w, Tensor b?, *, int axis=-1) -> Tensor y, Tensor mean?, Tensor inv_std?
  rule @normalised(axis) ; linear {w, b} -> y

op Softmax(Tensor x, *, int axis=-1) -> Tensor y
  rule @keep_whole(axis)                          # 'a!' in a notation: this factor is never split

op Gather(Tensor data, Tensor indices, *, int axis=0) -> Tensor y
  rule @gather ; masked v                         # vocab-parallel: local mask, then sum

op Pow(Tensor x, Tensor exponent) -> Tensor y     # several overloads of one name: the first that matches the
  rule ..., ... -> ...
op Pow(Tensor x, Scalar exponent) -> Tensor y     # arguments is taken; none: the error lists them all, numbered
  rule ... -> ...
)";

TEST(ParseRules, TakesTheParagraphsOfTheDefinitions) {
  Result<std::vector<OpOverload>> overloads = ParseRules(kDefinitions, "definitions");
  ASSERT_TRUE(overloads.ok()) << overloads.status().message();
  std::vector<std::string> signatures;
  for (const OpOverload& overload : *overloads) signatures.push_back(overload.op + ": " + FormatSignature(overload));
  EXPECT_THAT(
      signatures,
      ::testing::ElementsAre("MatMul: Tensor (Tensor a, Tensor b)", "Gemm: Tensor (Tensor a, Tensor b, Tensor c?, ...)",
                             "Add: Tensor (Tensor x, Tensor y)", "Relu: Tensor (Tensor x)",
                             "LayerNormalization: (Tensor y, Tensor mean?, Tensor inv_std?) (Tensor x, Tensor w, "
                             "Tensor b?, *, int axis=-1)",
                             "Softmax: Tensor (Tensor x, *, int axis=-1)",
                             "Gather: Tensor (Tensor data, Tensor indices, *, int axis=0)",
                             "Pow: Tensor (Tensor x, Tensor exponent)", "Pow: Tensor (Tensor x, Scalar exponent)"));
}

TEST(ParseRules, KeepsTheTextOfARule) {
  auto overloads =
      ParseRules("op A(Tensor x) -> Tensor y\n  rule  a   (b c) ->\n      b ; reduce sum  a c  # note\n", "f");
  ASSERT_TRUE(overloads.ok()) << overloads.status().message();
  EXPECT_EQ((*overloads)[0].rules[0].text, "a (b c) -> b ; reduce sum a c");
}

TEST(ParseRules, TakesEveryClauseAndLiteral) {
  auto overloads = ParseRules(R"(override op ns::Every.Thing(Tensor<float> x, Tensor[] more, *, int[] axes=[0,-1],
    float eps=1e-5, string mode="a\"b", bool keep=true, type to=f32, float[] scales?, graph body?) -> Tensor<to> y, Tensor<bool>[] z?
  doc "says \"everything\""
  flops 2 * size(a) * -count(x) + at(axes, 0, 7) % 3
  rule a b*8 (c*keep d!) 1 ..., ... -> a 3 _ (c d), ... ; reduce max b ... -> z ; linear {x, more} | x -> y ; monotone x
       ; antitone x -> y ; addend more ; aware a ; masked b c ; halo a:1,1,2 ; unused more ; size c = dim(x, -1) / 2
       ; when has(x) && !is(x, "f16") || rank(x) >= 2 ; alt ring(a, b) ; sig (S(0), B) -> (P(max), B)
       ; because "no reason"
  rule whole ; because "nothing is split"
)",
                              "f");
  ASSERT_TRUE(overloads.ok()) << overloads.status().message();
  const OpOverload& overload = overloads->front();
  EXPECT_TRUE(overload.overrides);
  EXPECT_EQ(overload.op, "ns::Every.Thing");
  EXPECT_EQ(overload.doc, "says \"everything\"");
  ASSERT_EQ(overload.rules.size(), 2u);
  EXPECT_EQ(overload.rules[0].clauses.size(), 14u);
  EXPECT_TRUE(overload.rules[1].whole);
}

struct SyntaxErrorRow {
  const char* text;
  const char* message;
};

TEST(ParseRules, SaysWhereWhatAndWhatWasFound) {
  constexpr SyntaxErrorRow kRows[] = {
      {"opp Relu(Tensor x) -> Tensor y",
       "f:1:1: expected \"op\" or \"override op\", found \"opp\" (did you mean \"op\"?)"},
      {"  rule ... -> ...",
       "f:1:3: expected \"op\" or \"override op\" at the start of a line; lines indented like this one stand below an "
       "op, "
       "found \"rule\""},
      {"op Relu Tensor x", "f:1:9: expected \"(\" and the op's parameters, found \"Tensor\""},
      {"op Relu(Tenser x) -> Tensor y",
       "f:1:9: expected a parameter such as \"Tensor x\" or \"int axis=-1\", found \"Tenser\" (did you mean "
       "\"Tensor\"?)"},
      {"op Relu(Tensor x -> Tensor y", "f:1:18: expected \")\" or \",\" after the parameter, found \"->\""},
      {"op Relu(Tensor x)", "f:1:18: expected \"->\" and the op's results, found the end of the line"},
      {"op Relu(Tensor<flot> x) -> Tensor y",
       "f:1:9: unknown type or earlier operand \"flot\" (did you mean \"float\"?)"},
      {"op Relu(Tensor x) -> Tensor<z> y", "f:1:22: unknown operand, attribute or type \"z\" (did you mean \"x\"?)"},
      {"op Relu(Tensor x, Tensor x) -> Tensor y", "f:1:19: a second parameter named \"x\""},
      {"op A(Tensor x, *, int axis=) -> Tensor y", "f:1:28: expected an integer, true or false, found \")\""},
      {"op A(Tensor x) -> Tensor y\n  rules ... -> ...",
       "f:2:3: expected doc, flops, attention, rule, expand or vjp, found \"rules\" (did you mean \"rule\"?)"},
      {"op A(Tensor x) -> Tensor y\n  rule ...",
       "f:2:11: expected \"->\" or a dimension, \",\" or \";\" in the notation, found the end of the line"},
      {"op A(Tensor x) -> Tensor y\n  rule a, b -> a", "f:2:8: the op has 1 operand, the notation has 2"},
      {"op A(Tensor x) -> Tensor y\n  rule a -> b",
       "f:2:8: only results carry \"b\": give its size with \"; size b = ...\""},
      {"op A(Tensor x) -> Tensor y\n  rule a -> ... a", "f:2:8: \"...\" stands in a result but in no operand"},
      {"op A(Tensor x) -> Tensor y\n  rule a -> a ; lineer x",
       "f:2:17: expected a clause (reduce, linear, monotone, antitone, addend, along, whole, nonlinear, aware, "
       "masked, halo, unused, picked, view, size, when, alt, sig, because, detached), found \"lineer\" (did you mean "
       "\"linear\"?)"},
      {"op A(Tensor x) -> Tensor y\n  rule a -> a ; linear z", "f:2:17: unknown operand \"z\" (did you mean \"x\"?)"},
      {"op A(Tensor x) -> Tensor y\n  rule a -> a ; reduce som a",
       "f:2:24: expected sum, max, min, prod or none, found \"som\" (did you mean \"sum\"?)"},
      {"op A(Tensor x) -> Tensor y\n  rule a -> a ; reduce sum b",
       "f:2:17: unknown letter \"b\" (did you mean \"a\"?)"},
      {"op A(Tensor x) -> Tensor y\n  rule (a b -> a",
       "f:2:13: expected a letter, \"...\", \"_\", a number, \"(\" or \"->\", found \"->\""},
      {"op A(Tensor x) -> Tensor y\n  rule a -> a ; when axs == 1", "f:2:22: unknown attribute \"axs\""},
      {"op A(Tensor x) -> Tensor y\n  rule a -> a ; when rnk(x)",
       "f:2:22: unknown function \"rnk\" (did you mean \"rank\"?)"},
      {"op A(Tensor x) -> Tensor y\n  rule a -> a ; sig (S(0), B) -> B",
       "f:2:17: the signature has 2 -> 1 layouts, the op 1 -> 1 tensors"},
      {"op A(Tensor x) -> Tensor y\n  rule as",
       "f:2:10: expected \"->\" or a dimension, \",\" or \";\" in the notation, "
       "found the end of the line"},
      {"op A(Tensor x) -> Tensor y\n  rule as size(x)",
       "f:2:11: expected the call of an op after \"as\": as Conv(x, w)"},
      {"op A(Tensor x) -> Tensor y\n  rule as Relu(z)", "f:2:16: unknown operand \"z\" (did you mean \"x\"?)"},
      {"op A(Tensor x) -> Tensor y\n  rule as Relu(-x)",
       "f:2:16: \"as Relu\" takes names of operands, or \"-\" for none"},
      {"op A(Tensor x) -> Tensor y\n  rule as Relu(x, alpha=beta)", "f:2:25: unknown attribute \"beta\""},
      {"op A(Tensor x, Tensor s) -> Tensor y\n  rule as Relu(x) ; along w[0]: s",
       "f:2:21: unknown operand or result \"w\" (did you mean \"x\", \"s\" or \"y\"?)"},
      {"op A(Tensor x, Tensor s) -> Tensor y\n  rule as Relu(x) ; along x[0] s",
       "f:2:32: expected \":\" and the operands that lie along it, found \"s\""},
      {"op A(Tensor x) -> Tensor y\n  doc \"open", "f:2:7: this string has no closing \" on its line"},
      {"op A(Tensor x) -> Tensor y\n  rule a $ -> a", "f:2:10: unexpected character \"$\""},
      {"op A(Tensor x) -> Tensor y\n  rule a*0 -> a",
       "f:2:10: expected a positive integer or an attribute after \"*\", found \"0\""},
  };
  for (const SyntaxErrorRow& row : kRows) {
    Result<std::vector<OpOverload>> overloads = ParseRules(row.text, "f");
    ASSERT_FALSE(overloads.ok()) << row.text;
    EXPECT_EQ(overloads.status().message(), row.message) << row.text;
    EXPECT_EQ(overloads.status().code(), Code::kBadInput);
  }
}

TEST(ParseRules, BoundsNesting) {
  const std::string deep = "op A(Tensor x) -> Tensor y\n  flops " + std::string(100000, '(') + "1";
  EXPECT_THAT(ParseRules(deep, "f").status().message(), ::testing::HasSubstr("nested too deeply"));
  std::string chain = "op A(Tensor x) -> Tensor y\n  flops 1";
  for (int i = 0; i < 100000; ++i) chain += "+1";
  EXPECT_THAT(ParseRules(chain, "f").status().message(), ::testing::HasSubstr("too long"));
}

// Any damage of good text is an error with a place, or good text: never a crash.
TEST(ParseRules, SurvivesDamage) {
  std::mt19937 random(7);
  const std::string good = kDefinitions;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int edit = 0; edit < 3; ++edit) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random() % 128);
          break;
        case 1:
          text.erase(at, random() % 20);
          break;
        default:
          text.insert(at, good.substr(random() % good.size(), random() % 20));
      }
    }
    Result<std::vector<OpOverload>> overloads = ParseRules(text, "f");
    if (!overloads.ok()) {
      EXPECT_THAT(overloads.status().message(), ::testing::StartsWith("f:"));
    }
  }
}

TEST(RuleSet, RefusesToReplaceWithoutOverride) {
  RuleSet rules;
  ASSERT_TRUE(rules.Add("op Relu(Tensor x) -> Tensor y\n  rule ... -> ...", "a.rules").ok());
  EXPECT_EQ(rules.Add("\nop Relu(Tensor x) -> Tensor y\n", "b.rules").message(),
            "b.rules:2:1: op Relu is already known (a.rules:1:1); write \"override op\" to replace it");
  EXPECT_EQ(rules.Add("override op Rel(Tensor x) -> Tensor y\n", "b.rules").message(),
            "b.rules:1:1: no op Rel to override (did you mean \"Relu\"?)");
  ASSERT_TRUE(rules.Add("override op Relu(Tensor z) -> Tensor y\n  rule ... -> ...", "b.rules").ok());
  EXPECT_EQ(FormatSignature(rules.Find("Relu")->overloads[0]), "Tensor (Tensor z)");
  EXPECT_EQ(rules.Find("Relu")->family, "b");
}

TEST(RuleSet, BuiltinRulesAreValid) {
  Result<RuleSet> rules = RuleSet::Builtin();
  EXPECT_TRUE(rules.ok()) << rules.status().message();
}

}  // namespace
}  // namespace sbp
