#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "torch/program.h"

namespace sbp::torch {
namespace {

TEST(PlainExpressionTest, SympysFormBecomesArithmetic) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"Symbol('s0', positive=True, integer=True)", "s0"},
      {"Integer(-3)", "-3"},
      {"Add(Symbol('s0', integer=True), Integer(1))", "(s0 + 1)"},
      {"Mul(Integer(2), Add(Symbol('a'), Symbol('b')))", "(2 * (a + b))"},
      {"FloorDiv(Symbol('a'), Integer(2))", "FloorDiv(a, 2)"},
      {"Max(Symbol('a'), Symbol('b'), Integer(4))", "Max(Max(a, b), 4)"},
      {"Mul(Rational(1, 2), Symbol('a'))", "((1/2) * a)"},
      {"Pow(Symbol('a'), Integer(2))", "(a**2)"},
      {"s0", "s0"},
      {"2*s0 + 1", "2*s0 + 1"},  // what is no such form stays as it is
      {"Add(Symbol('s0'", "Add(Symbol('s0'"},
  };
  for (const auto& [text, plain] : rows) EXPECT_EQ(PlainExpression(text), plain) << text;
}

TEST(PlainExpressionTest, NestingIsBounded) {
  std::string text = "Integer(1)";
  for (int i = 0; i < 1000; ++i) text = "floor(" + text + ")";
  EXPECT_EQ(PlainExpression(text), text);
}

}  // namespace
}  // namespace sbp::torch
