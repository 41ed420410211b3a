#include "stablehlo/reader.h"

#include <gmock/gmock.h>

#include <string>

#include "base/text.h"
#include "graph/graph.h"

namespace sbp {
namespace {

using testing::HasSubstr;

// The dump of main with these ops, or the error. Arguments: %x of f32[4,6], %i of i32[4].
std::string Read(const std::string& ops) {
  const std::string text = StrCat(
      "\"builtin.module\"() ({\n\"func.func\"() <{sym_name = \"main\"}> ({\n"
      "^bb0(%x: tensor<4x6xf32> loc(\"p['x']\"), %i: tensor<4xi32> loc(\"i\")):\n",
      ops, "\n}) : () -> ()\n}) : () -> ()");
  const Result<Graph> graph = ReadStableHlo(text, "m.mlir");
  if (!graph.ok()) {
    EXPECT_EQ(graph.status().code(), Code::kBadInput);
    return graph.status().message();
  }
  EXPECT_EQ(Verify(*graph, "").message(), "");
  return Dump(*graph);
}

TEST(StableHloReaderTest, ArgumentsAreParametersOrInputsByTheirNames) {
  const std::string dump = Read("\"func.return\"(%x, %i) : (tensor<4x6xf32>, tensor<4xi32>) -> ()");
  EXPECT_THAT(dump, HasSubstr("parameter p.x f32[4,6]"));
  EXPECT_THAT(dump, HasSubstr("input i i32[4]"));
}

TEST(StableHloReaderTest, AConstantHasTheTypeOfItsValue) {
  EXPECT_THAT(Read("%c = \"stablehlo.constant\"() <{value = dense<1> : tensor<4xi32>}> : () -> tensor<4xf32>"),
              HasSubstr("m.mlir:4:6: stablehlo.constant: the value is of tensor<4xi32>, the result f32[4]"));
  EXPECT_THAT(Read("%c = \"stablehlo.constant\"() <{value = dense<[1, 2]> : tensor<4xi32>}> : () -> tensor<4xi32>"),
              HasSubstr("expected 4 values"));
}

// Its tensor has dimensions of size 1, which the vector has not.
TEST(StableHloReaderTest, AMatrixOfOneNumberIsBroadcastAndReshaped) {
  const std::string dump = Read(
      "%c = \"stablehlo.constant\"() <{value = dense<1.0> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>\n"
      "%b = \"stablehlo.broadcast_in_dim\"(%c) <{broadcast_dimensions = array<i64: 0, 1>}> "
      ": (tensor<1x1xf32>) -> tensor<4x6xf32>\n"
      "%r = \"stablehlo.reshape\"(%b) : (tensor<4x6xf32>) -> tensor<24xf32>\n"
      "%s = \"stablehlo.reshape\"(%x) : (tensor<4x6xf32>) -> tensor<24xf32>\n"
      "%y = \"stablehlo.add\"(%s, %r) : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>\n"
      "\"func.return\"(%y) : (tensor<24xf32>) -> ()");
  EXPECT_THAT(dump, HasSubstr("stablehlo::add"));
  EXPECT_THAT(dump, HasSubstr("stablehlo::add(reshape_3, reshape_2)"));  // not the constant
}

TEST(StableHloReaderTest, FunctionsThatCallThemselvesAreRefused) {
  EXPECT_THAT(Read("\"func.call\"(%x, %i) <{callee = @main}> : (tensor<4x6xf32>, tensor<4xi32>) -> ()"),
              HasSubstr("call each other too deeply"));
}

}  // namespace
}  // namespace sbp
