#include <gmock/gmock.h>

#include <string>

#include "base/text.h"
#include "stablehlo/syntax.h"

namespace sbp::stablehlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const Result<Module> module = ParseModule(text);
  return module.ok() ? "" : module.status().message();
}

std::string ModuleOf(const std::string& op) { return StrCat("\"builtin.module\"() ({\n", op, "\n}) : () -> ()"); }

TEST(StableHloParserTest, AnOpHasOperandsResultsAttributesAndALocation) {
  const std::string text = StrCat(
      "#set = #acme.set<[1]>\n",
      ModuleOf(
          "%0, %1:2 = \"acme.op\"(%a, %b#1) <{n = 3 : i64, list = array<i64: 1, -2>, set = #set}> {\"s\" = \"x\\22\"}"
          " : (tensor<2x?xf32>, tensor<i1>) -> (tensor<f32>, f32, !acme.t<4>) loc(\"here\"(\"f.py\":7:1))"));
  const Result<Module> module = ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status().message();
  ASSERT_EQ(module->top.regions.size(), 1U);
  const Operation& op = module->top.regions[0].operations.at(0);
  EXPECT_EQ(op.name, "acme.op");
  ASSERT_EQ(op.operands.size(), 2U);
  EXPECT_EQ(op.operands[1].name, "%b");
  EXPECT_EQ(op.operands[1].index, 1);
  EXPECT_EQ(op.results[1].second, 2);
  EXPECT_EQ(op.attributes.at("n").integer, 3);
  EXPECT_THAT(op.attributes.at("list").integers, ElementsAre(1, -2));
  EXPECT_EQ(op.attributes.at("set").text, "acme.set");
  EXPECT_EQ(op.attributes.at("s").text, "x\"");
  EXPECT_EQ(op.operand_types[0].tensor.shape, (Shape{2, kUnknownDim}));
  EXPECT_EQ(op.result_types[2].tensor.dtype, DType::kUndefined);
  EXPECT_EQ(op.location.name, "here");
  EXPECT_EQ(op.location.parts.at(0).line, 7);
}

TEST(StableHloParserTest, ErrorsNameThePlaceAndWhatWasExpected) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("expected an op of MLIR's generic form"));
  EXPECT_THAT(ErrorOf(ModuleOf("%0 = \"a.b\"(%x) : () -> f32")), HasSubstr("2:6: a.b has 1 operands and 0 types"));
  EXPECT_THAT(ErrorOf(ModuleOf("%0 = \"a.b\"() : () -> ()")), HasSubstr("has 1 results and 0 types of results"));
  EXPECT_THAT(ErrorOf(ModuleOf("\"a.b\"() <{v = #none}> : () -> ()")), HasSubstr("#none is not defined"));
  EXPECT_THAT(ErrorOf(ModuleOf("\"a.b\"() <{v = \"open}> : () -> ()")), HasSubstr("no closing"));
  EXPECT_THAT(ErrorOf(ModuleOf("%0:9999999 = \"a.b\"() : () -> ()")), HasSubstr("from 1 to 65536"));
}

TEST(StableHloParserTest, NestingIsBounded) {
  std::string regions, lists(1000, '[');
  for (int i = 0; i < 1000; ++i) regions += "\"a.b\"() ({\n";
  EXPECT_THAT(ErrorOf(regions), HasSubstr("nested too deeply"));
  EXPECT_THAT(ErrorOf(ModuleOf(StrCat("\"a.b\"() {v = ", lists))), HasSubstr("nested too deeply"));
}

TEST(StableHloParserTest, AliasesOfAliasesDoNotGrowWithoutBounds) {
  std::string wide = "#a0 = [1, 1]\n", deep = wide;
  for (int i = 1; i < 40; ++i) {
    wide += StrCat("#a", i, " = [#a", i - 1, ", #a", i - 1, "]\n");
    deep += StrCat("#a", i, " = [#a", i - 1, "]\n");
  }
  EXPECT_THAT(ErrorOf(wide), HasSubstr("is too large for an alias"));
  EXPECT_THAT(ErrorOf(deep), HasSubstr("is too large for an alias"));
}

}  // namespace
}  // namespace sbp::stablehlo
