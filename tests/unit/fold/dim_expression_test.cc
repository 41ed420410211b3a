#include "fold/dim_expression.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "fold/resolve.h"

namespace sbp {
namespace {

const std::map<std::string, int64_t> kBindings = {
    {"a", 7}, {"b", 3}, {"x[0]", 5}, {"p2o.Dim.0", 11}, {"batch size", 9}};

struct DimExpressionRow {
  std::string text;
  std::string symbols;
  std::string value;  // or the error
};

TEST(DimExpressionTest, ValuesAndSymbols) {
  const DimExpressionRow rows[] = {
      {"12", "", "12"},
      {"a", "a", "7"},
      {" a + 1 ", "a", "8"},
      {"2*(a - 1)", "a", "12"},
      {"a - b - 1", "a b", "3"},
      {"a - (b - 1)", "a b", "5"},
      {"-a + 10", "a", "3"},
      {"2*a**2", "a", "98"},
      {"a//2", "a", "3"},
      {"-a//2", "a", "-4"},
      {"a % 4", "a", "3"},
      {"floor(a/2)", "a", "3"},
      {"ceiling(a/2)", "a", "4"},
      {"floor(a/2 - 1/2) + 1", "a", "4"},
      {"(a - 1)/2", "a", "3"},
      {"max(a, b, 9)", "a b", "9"},
      {"Min(a, b)", "a b", "3"},
      {"Mod(a, b)", "a b", "1"},
      {"x[0]*2", "x[0]", "10"},
      {"p2o.Dim.0", "p2o.Dim.0", "11"},
      {"batch size", "batch size", "9"},  // does not parse: one symbol
      {"/model/x[0]", "/model/x[0]", "dimension \"/model/x[0]\": symbol \"/model/x[0]\" is not bound"},
      {"a/2", "a", "dimension \"a/2\": the value is a fraction, 7/2"},
      {"a/(b - 3)", "a b", "dimension \"a/(b - 3)\": a division by zero or an overflow"},
      {"9223372036854775807*a", "a", "dimension \"9223372036854775807*a\": a division by zero or an overflow"},
      {"a + c", "a c", "dimension \"a + c\": symbol \"c\" is not bound"},
  };
  for (const DimExpressionRow& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(Join(SymbolsOf(row.text), " "), row.symbols);
    const Result<int64_t> value = EvaluateDim(row.text, kBindings);
    EXPECT_EQ(value.ok() ? StrCat(*value) : value.status().message(), row.value);
  }
}

TEST(DimExpressionTest, DeepNestingIsOneSymbol) {
  const std::string text = std::string(1000, '(') + "a" + std::string(1000, ')');
  EXPECT_EQ(SymbolsOf(text).size(), 1u);
  EXPECT_EQ(SymbolsOf(text)[0], text);
}

TEST(DimExpressionTest, SolvesForOneSymbol) {
  struct SolveRow {
    std::string text;
    int64_t target;
    std::optional<int64_t> value;  // of s, with b = 3
  };
  const SolveRow rows[] = {
      {"s", 4096, 4096}, {"s + 1", 4096, 4095},     {"2*s - b", 7, 5},
      {"10 - s", 4, 6},  {"s//8", 5, 40},           {"floor(s/2 - 1/2) + 1", 32, 63},
      {"s/4", 16, 64},   {"s*b", 10, std::nullopt}, {"s + 10", 3, std::nullopt},
      {"s**2", 144, 12},
  };
  for (const SolveRow& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(DimExpression::Parse(row.text).SolveFor("s", row.target, kBindings), row.value);
  }
}

}  // namespace
}  // namespace sbp
