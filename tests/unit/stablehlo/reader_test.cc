#include "stablehlo/reader.h"

#include <gmock/gmock.h>

#include <string>

#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "read_main.h"

namespace sbp {
namespace {

using testing::HasSubstr;
using testing::Not;

// Arguments: %x of f32[4,6], %i of i32[4].
std::string Read(const std::string& ops) {
  return ReadMain("%x: tensor<4x6xf32> loc(\"p['x']\"), %i: tensor<4xi32> loc(\"i\")", ops);
}

// A while of a counter from 0, the matrix and what it stacks.
std::string Loop(const std::string& bound, const std::string& body) {
  const std::string types = "(tensor<i32>, tensor<4x6xf32>, tensor<4x6xf32>)";
  return Read(StrCat(
      "%0 = \"stablehlo.constant\"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>\n"
      "%1 = \"stablehlo.constant\"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>\n"
      "%p = \"stablehlo.slice\"(%i) <{start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = "
      "array<i64: "
      "1>}> : (tensor<4xi32>) -> tensor<1xi32>\n"
      "%n = \"stablehlo.reshape\"(%p) : (tensor<1xi32>) -> tensor<i32>\n"
      "%w:3 = \"stablehlo.while\"(%0, %x, %x) ({\n^bb0(%k: tensor<i32>, %a: tensor<4x6xf32>, %s: tensor<4x6xf32>):\n",
      bound,
      "%c = \"stablehlo.compare\"(%k, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : "
      "(tensor<i32>, "
      "tensor<i32>) -> tensor<i1>\n\"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n}, {\n"
      "^bb0(%k: tensor<i32>, %a: tensor<4x6xf32>, %s: tensor<4x6xf32>):\n",
      body,
      "%m = \"stablehlo.add\"(%k, %1) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
      "\"stablehlo.return\"(%m, %y, %t) : ",
      types, " -> ()\n}) : ", types, " -> ", types, " loc(\"jit(f)/while\")\n",
      "\"func.return\"(%w#1, %w#2) : (tensor<4x6xf32>, tensor<4x6xf32>) -> ()"));
}
const std::string kThree = "%b = \"stablehlo.constant\"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>\n";
const std::string kBody =
    "%y = \"stablehlo.tanh\"(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32> loc(\"jit(f)/while/body/tanh\")\n"
    "%r = \"stablehlo.slice\"(%y) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 6>, strides = "
    "array<i64: "
    "1, 1>}> : (tensor<4x6xf32>) -> tensor<1x6xf32>\n"
    "%t = \"stablehlo.dynamic_update_slice\"(%s, %r, %k, %0) : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, "
    "tensor<i32>) "
    "-> tensor<4x6xf32>\n";

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

// Of main(p.x: f32[4], p.w: f32[4], n: i32[2]) -> (result.0.x: f32[4], result.1.w: f32[4]), with attributes per
// argument.
Result<Graph> ReadDonated(std::string_view of_x, std::string_view of_w, std::string_view of_n = "") {
  return ReadStableHlo(
      StrCat(
          "\"builtin.module\"() ({\n\"func.func\"() <{arg_attrs = [{", of_x, "}, {", of_w, "}, {", of_n,
          "}], res_attrs = [{jax.result_info = \"result[0]['x']\"}, {jax.result_info = \"result[1]['w']\"}], "
          "sym_name = \"main\"}> ({\n"
          "^bb0(%x: tensor<4xf32> loc(\"p['x']\"), %w: tensor<4xf32> loc(\"p['w']\"), %n: tensor<2xi32> loc(\"n\")):\n"
          "%y = \"stablehlo.add\"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
          "\"func.return\"(%y, %y) : (tensor<4xf32>, tensor<4xf32>) -> ()\n}) : () -> ()\n}) : () -> ()"),
      "m.mlir");
}

// "p.w -> result.1.w", or the error.
std::string TiesOf(const Result<Graph>& graph) {
  if (!graph.ok()) return std::string(graph.status().message());
  std::vector<std::string> ties;
  for (const Tie& tie : graph->ties) {
    ties.push_back(StrCat(graph->tensor(tie.input).name, " -> ", graph->tensor(tie.output).name));
  }
  return Join(ties, ", ");
}

TEST(StableHloReaderTest, WhatIsDonatedIsTiedToItsResult) {
  EXPECT_EQ(TiesOf(ReadDonated("", "tf.aliasing_output = 1 : i32")), "p.w -> result.1.w");
  EXPECT_EQ(TiesOf(ReadDonated("tf.aliasing_output = 1 : i32", "tf.aliasing_output = 0 : i32")),
            "p.x -> result.1.w, p.w -> result.0.x");
}

TEST(StableHloReaderTest, ADonorIsTiedToTheFirstResultOfItsTypeThatIsLeft) {
  EXPECT_EQ(TiesOf(ReadDonated("", "jax.buffer_donor = true")), "p.w -> result.0.x");
  EXPECT_EQ(TiesOf(ReadDonated("jax.buffer_donor = true", "jax.buffer_donor = true")),
            "p.x -> result.0.x, p.w -> result.1.w");
  EXPECT_EQ(TiesOf(ReadDonated("jax.buffer_donor = true", "tf.aliasing_output = 0 : i32")),
            "p.x -> result.1.w, p.w -> result.0.x");
  EXPECT_EQ(TiesOf(ReadDonated("jax.buffer_donor = false", "", "jax.buffer_donor = true")), "");  // none is i32[2]
  EXPECT_EQ(TiesOf(ReadDonated("", "jax.buffer_donor = \"x\"")),
            "m.mlir:2:35: jax.buffer_donor: expected true or false");
}

TEST(StableHloReaderTest, WhatCannotBeDonatedIsRefusedByItsPlace) {
  EXPECT_EQ(TiesOf(ReadDonated("", "tf.aliasing_output = 2 : i32")),
            "m.mlir:2:35: tf.aliasing_output is 2: main has 2 results, counted from 0");
  EXPECT_EQ(TiesOf(ReadDonated("", "tf.aliasing_output = \"a\"")),
            "m.mlir:2:35: tf.aliasing_output is no integer: expected the number of a result");
  EXPECT_EQ(TiesOf(ReadDonated("tf.aliasing_output = 1 : i32", "tf.aliasing_output = 1 : i32")),
            "m.mlir:2:63: tf.aliasing_output is 1: that result takes the memory of argument 0");
  EXPECT_EQ(TiesOf(ReadDonated("", "", "tf.aliasing_output = 0 : i32")),
            "m.mlir:2:39: tf.aliasing_output is 0: the argument is i32[2], that result f32[4]");
}

TEST(StableHloReaderTest, FunctionsThatCallThemselvesAreRefused) {
  EXPECT_THAT(Read("\"func.call\"(%x, %i) <{callee = @main}> : (tensor<4x6xf32>, tensor<4xi32>) -> ()"),
              HasSubstr("m.mlir:4:1: functions and regions call each other deeper than 32 levels"));
}

TEST(StableHloReaderTest, ALoopThatIsCountedIsReadTurnByTurn) {
  const std::string dump = Loop(kThree, kBody);
  EXPECT_THAT(dump, HasSubstr("op while/body.0/tanh stablehlo::tanh(p.x)"));
  EXPECT_THAT(dump, HasSubstr("op while/body.2/tanh stablehlo::tanh(while/body.1/tanh)"));
  EXPECT_THAT(dump, Not(HasSubstr("body.3")));
  EXPECT_THAT(dump, HasSubstr("stablehlo::concatenate(slice_2, slice_3, slice_4, "));  // what it stacks, once
  EXPECT_THAT(dump, Not(HasSubstr("stablehlo::add")));                                 // nor is the counter computed
}

TEST(StableHloReaderTest, ALoopThatDataEndsIsRefusedByItsPlace) {
  EXPECT_THAT(
      Loop("%b = \"stablehlo.reshape\"(%n) : (tensor<i32>) -> tensor<i32>\n", kBody),
      HasSubstr("m.mlir:8:8: stablehlo.while is not read where data decide how often it turns: write it as lax.scan"));
  const std::string many =
      "%b = \"stablehlo.constant\"() <{value = dense<2000000> : tensor<i32>}> : () -> tensor<i32>\n";
  EXPECT_THAT(Loop(many,
                   "%y = \"stablehlo.optimization_barrier\"(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>\n"
                   "%t = \"stablehlo.optimization_barrier\"(%s) : (tensor<4x6xf32>) -> tensor<4x6xf32>\n"),
              HasSubstr("stablehlo.while turns more than 10000 times"));
}

TEST(StableHloReaderTest, ABranchIsReadWhereItIsKnown) {
  const auto branch = [](const std::string& index) {
    return Read(StrCat("%k = ", index,
                       "%y = \"stablehlo.case\"(%k) ({\n%a = \"stablehlo.tanh\"(%x) : (tensor<4x6xf32>) -> "
                       "tensor<4x6xf32>\n\"stablehlo.return\"(%a) : (tensor<4x6xf32>) -> ()\n}, {\n%b = "
                       "\"stablehlo.abs\"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>\n\"stablehlo.return\"(%b) : "
                       "(tensor<4x6xf32>) -> ()\n}) : (tensor<i32>) -> tensor<4x6xf32>\n\"func.return\"(%y) : "
                       "(tensor<4x6xf32>) -> ()"));
  };
  const auto number = [](int value) {
    return StrCat("\"stablehlo.constant\"() <{value = dense<", value, "> : tensor<i32>}> : () -> tensor<i32>\n");
  };
  EXPECT_THAT(branch(number(0)), HasSubstr("stablehlo::tanh"));
  EXPECT_THAT(branch(number(7)), HasSubstr("stablehlo::abs"));  // out of range: the last one
}

TEST(StableHloReaderTest, RandomNumbersOfADeviceAreRefused) {
  EXPECT_THAT(
      Read("%r:2 = \"stablehlo.rng_bit_generator\"(%i) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : "
           "(tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)"),
      HasSubstr("m.mlir:4:8: stablehlo.rng_bit_generator is not read: pass random numbers as arguments, or draw"));
}

}  // namespace
}  // namespace sbp
