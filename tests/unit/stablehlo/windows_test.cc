#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "read_main.h"

namespace sbp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string Region(std::string_view op, std::string_view made = "f32", std::string_view attributes = "") {
  return StrCat("({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = \"stablehlo.", op, "\"(%a, %b) ", attributes,
                " : (tensor<f32>, tensor<f32>) -> tensor<", made, ">\n\"stablehlo.return\"(%c) : (tensor<", made,
                ">) -> ()\n}");
}

std::string Start(std::string_view value) {
  return StrCat("%s = \"stablehlo.constant\"() <{value = dense<", value, "> : tensor<f32>}> : () -> tensor<f32>\n");
}

std::string Windowed(std::string_view shape, std::string_view op, std::string_view start, std::string_view attributes,
                     std::string_view result) {
  return ReadMain(StrCat("%x: tensor<", shape, "xf32>"),
                  StrCat(Start(start), "%y = \"stablehlo.reduce_window\"(%x, %s) <{", attributes, "}> ", Region(op),
                         ") : (tensor<", shape, "xf32>, tensor<f32>) -> tensor<", result,
                         "xf32>\n\"func.return\"(%y) : (tensor<", result, "xf32>) -> ()"));
}

TEST(WindowsTest, SlideOverTheDimensionsBehindBatchAndChannels) {
  EXPECT_THAT(Windowed("2x8x8x3", "maximum", "0xFF800000",
                       "window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 1>, "
                       "padding = dense<[[0, 0], [0, 0], [1, 1], [0, 0]]> : tensor<4x2xi64>",
                       "2x4x8x3"),
              AllOf(HasSubstr("permutation=[0, 3, 1, 2]"),
                    HasSubstr("kernel_shape=[2, 3] pads=[0, 1, 0, 1] reducer=\"maximum\" strides=[2, 1]"),
                    HasSubstr("permutation=[0, 2, 3, 1]")));
}

TEST(WindowsTest, WithoutBatchOrChannelsTheseAreOfSizeOne) {
  EXPECT_THAT(Windowed("8x8", "add", "0.0", "window_dimensions = array<i64: 2, 2>", "7x7"),
              AllOf(HasSubstr("f32[1,1,8,8]"), HasSubstr("elements=4"), HasSubstr("f32[1,1,7,7]")));
}

TEST(WindowsTest, OfFourDimensionsAreOneAfterTheOther) {
  const std::string dump =
      Windowed("4x4x4x4", "maximum", "0xFF800000", "window_dimensions = array<i64: 2, 2, 2, 2>", "3x3x3x3");
  EXPECT_THAT(dump, AllOf(HasSubstr("f32[3,4,3,3]"), HasSubstr("kernel_shape=[1, 2]")));
}

TEST(WindowsTest, AsLargeAsTheDimensionTheyAreRunningSums) {
  EXPECT_THAT(
      Windowed("3x5", "add", "0.0",
               "window_dimensions = array<i64: 1, 5>, padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>", "3x5"),
      HasSubstr("stablehlo::cumulative(x) -> (reduce_window) _operands=[\"x\"] axis=1 reducer=\"add\" reverse=0"));
  EXPECT_THAT(
      Windowed("3x5", "multiply", "1.0",
               "window_dimensions = array<i64: 3, 1>, padding = dense<[[0, 2], [0, 0]]> : tensor<2x2xi64>", "3x5"),
      HasSubstr("axis=0 reducer=\"multiply\" reverse=1"));
}

TEST(WindowsTest, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(Windowed("8x8", "multiply", "1.0", "window_dimensions = array<i64: 2, 2>", "7x7"),
              HasSubstr("m.mlir:5:6: stablehlo.reduce_window: windows by multiply of f32 are not read"));
  EXPECT_THAT(Windowed("8x8", "add", "1.0", "window_dimensions = array<i64: 2, 2>", "7x7"),
              HasSubstr("windows by add that do not begin with its neutral number"));
  EXPECT_THAT(Windowed("8x8", "add", "0.0", "window_dimensions = array<i64: 2, 2>", "8x7"),
              HasSubstr("the windows make another size of dimension 0 than the result has"));
  EXPECT_THAT(Windowed("8x8", "add", "0.0", "window_dimensions = array<i64: 2>", "7x7"),
              HasSubstr("expected 2 positive numbers of window_dimensions"));
}

std::string Selected(std::string_view direction) {
  return ReadMain(
      "%x: tensor<2x8x8x3xf32>, %g: tensor<2x4x4x3xf32>",
      StrCat(
          Start("0.0"),
          "%y = \"stablehlo.select_and_scatter\"(%x, %g, %s) <{window_dimensions = array<i64: 1, 2, 2, "
          "1>, window_strides = array<i64: 1, 2, 2, 1>}> ",
          Region("compare", "i1",
                 StrCat("<{comparison_direction = #stablehlo<comparison_direction ", direction, ">}>")),
          ", ", Region("add").substr(1),
          ") : (tensor<2x8x8x3xf32>, tensor<2x4x4x3xf32>, tensor<f32>) -> tensor<2x8x8x3xf32>\n\"func.return\"(%y) : "
          "(tensor<2x8x8x3xf32>) -> ()"));
}

TEST(WindowsTest, TheDerivativeOfMaximaWritesWhereTheyStand) {
  EXPECT_THAT(Selected("GE"), AllOf(HasSubstr("stablehlo::unpool("), HasSubstr("kernel_shape=[2, 2] strides=[2, 2]"),
                                    Not(HasSubstr("stablehlo::negate"))));
  EXPECT_THAT(Selected("LE"), HasSubstr("stablehlo::negate(x)"));
  EXPECT_THAT(Selected("GT"), HasSubstr("only selections of the greatest or least"));
}

}  // namespace
}  // namespace sbp
