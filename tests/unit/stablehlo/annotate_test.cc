#include "stablehlo/annotate.h"

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>

#include "base/text.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "stablehlo/shardings.h"

namespace sbp {
namespace {

using testing::HasSubstr;
using testing::Not;

// @twice adds a value to itself; main has %x and %y of f32[4,8], and these ops.
std::string ModuleWith(const std::string& ops, const std::string& attributes = "") {
  return StrCat(
      "\"builtin.module\"() ({\n\"func.func\"() <{sym_name = \"main\"", attributes,
      "}> ({\n^bb0(%x: tensor<4x8xf32> loc(\"x\"), %y: tensor<4x8xf32> loc(\"y\")):\n", ops,
      "\n}) : () -> ()\n\"func.func\"() <{sym_name = \"twice\"}> ({\n^bb0(%a: tensor<4x8xf32>):\n"
      "%b = \"stablehlo.add\"(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc(\"b\")\n"
      "\"func.return\"(%b) : (tensor<4x8xf32>) -> ()\n}) : () -> ()\n}) {mhlo.num_partitions = 1 : i32} : () -> ()");
}

using Layouts = std::map<std::string, NdSbp>;

AnnotatedText Annotated(const std::string& text, const Layouts& written, const Layouts& read = {}) {
  const auto find = [](const Layouts& layouts, const std::string& name) {
    const auto found = layouts.find(name);
    return found == layouts.end() ? std::nullopt : std::optional(found->second);
  };
  const Result<AnnotatedText> made =
      AnnotateStableHlo(text, "m.mlir",
                        {.mesh = *ParseMesh("d=2,m=4"),
                         .written = [&](const std::string& tensor) { return find(written, tensor); },
                         .read = [&](const std::string& result,
                                     const std::string& operand) { return find(read, result + "<" + operand); }});
  EXPECT_TRUE(made.ok()) << made.status().message();
  if (!made.ok()) return {};
  const Result<Shardings> again = ReadShardings(made->text, "again.mlir");
  EXPECT_TRUE(again.ok() && again->problem.ok());
  return *made;
}

const NdSbp kRows{Sbp::Split(0), Sbp::Broadcast()}, kColumns{Sbp::Broadcast(), Sbp::Split(1)};
const char kSum[] =
    "%s = \"stablehlo.subtract\"(%x, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc(\"s\")\n"
    "\"func.return\"(%s) : (tensor<4x8xf32>) -> ()";

TEST(AnnotateTest, ArgumentsResultsAndOps) {
  const AnnotatedText made = Annotated(ModuleWith(kSum), {{"x", kRows}, {"s", kColumns}, {"result.0", kRows}});
  EXPECT_THAT(made.text,
              HasSubstr("\"sdy.mesh\"() <{mesh = #sdy.mesh<[\"d\"=2, \"m\"=4]>, sym_name = \"plan_mesh\"}>"));
  EXPECT_THAT(made.text, HasSubstr("arg_attrs = [{sdy.sharding = #sdy.sharding<@plan_mesh, [{\"d\"}, {}]>}, "
                                   "{sdy.sharding = #sdy.sharding<@plan_mesh, [{?}, {?}]>}]"));
  EXPECT_THAT(made.text, HasSubstr("res_attrs = [{sdy.sharding = #sdy.sharding<@plan_mesh, [{\"d\"}, {}]>}]"));
  EXPECT_THAT(made.text,
              HasSubstr("(%x, %y) {sdy.sharding = #sdy.sharding_per_value<[<@plan_mesh, [{}, {\"m\"}]>]>} : ("));
  EXPECT_THAT(made.text, HasSubstr("mhlo.num_partitions = 8 : i32"));
  EXPECT_EQ(made.results, 1);
  ASSERT_EQ(made.arguments.size(), 2);
  EXPECT_EQ(made.arguments[1].name, "y");
  EXPECT_EQ(made.outputs.size(), 1);
}

TEST(AnnotateTest, AnOperandThatIsReadDifferentlyIsConstrained) {
  const AnnotatedText made =
      Annotated(ModuleWith(kSum), {{"x", kRows}, {"y", kRows}, {"s", kColumns}}, {{"s<y", kColumns}});
  EXPECT_EQ(made.constraints, 1);
  EXPECT_THAT(made.text, HasSubstr("%planned0 = \"sdy.sharding_constraint\"(%y) <{sharding = #sdy.sharding<@plan_mesh, "
                                   "[{}, {\"m\"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>\n    %s = "
                                   "\"stablehlo.subtract\"(%x, %planned0) "));
}

TEST(AnnotateTest, WhatTheTextSaidGivesWay) {
  const std::string text =
      ModuleWith(kSum, ", arg_attrs = [{a = 1 : i32, sdy.sharding = #sdy.sharding<@o, [{}, {}]>}, {}]");
  const AnnotatedText made = Annotated(text, {{"x", kRows}, {"y", kColumns}});
  EXPECT_THAT(made.text,
              HasSubstr("arg_attrs = [{a = 1 : i32, sdy.sharding = #sdy.sharding<@plan_mesh, [{\"d\"}, {}]>}, "
                        "{sdy.sharding = #sdy.sharding<@plan_mesh, [{}, {\"m\"}]>}]"));
  EXPECT_THAT(made.text, Not(HasSubstr("@o")));
}

TEST(AnnotateTest, AFunctionThatIsCalledTwiceNeedsOneLayout) {
  const std::string text = ModuleWith(
      "%p = \"func.call\"(%x) <{callee = @twice}> : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
      "%q = \"func.call\"(%y) <{callee = @twice}> : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
      "\"func.return\"(%p, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()");
  const AnnotatedText alike = Annotated(text, {{"b", kRows}, {"b_2", kRows}});
  EXPECT_THAT(alike.text, HasSubstr("(%a, %a) {sdy.sharding = "));
  EXPECT_EQ(alike.ambiguous, 0);
  const AnnotatedText different = Annotated(text, {{"b", kRows}, {"b_2", kColumns}});
  EXPECT_THAT(different.text, HasSubstr("(%a, %a) : ("));
  EXPECT_EQ(different.ambiguous, 1);
}

}  // namespace
}  // namespace sbp
