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

// Data [2,8,8,4] and a kernel [3,3,4,6], with these attributes beside those of space.
std::string Convolved(std::string_view attributes, std::string_view result, std::string_view kernel = "3x3x4x6",
                      std::string_view labels = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]") {
  return ReadMain(StrCat("%x: tensor<2x8x8x4xf32>, %w: tensor<", kernel, "xf32>"),
                  StrCat("%y = \"stablehlo.convolution\"(%x, %w) <{dimension_numbers = #stablehlo.conv<", labels, ">",
                         attributes, "}> : (tensor<2x8x8x4xf32>, tensor<", kernel, "xf32>) -> tensor<", result,
                         "xf32>\n\"func.return\"(%y) : (tensor<", result, "xf32>) -> ()"));
}

TEST(ConvolutionTest, IsConvOfTransposedOperands) {
  EXPECT_THAT(
      Convolved(", window_strides = array<i64: 2, 2>, padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>", "2x4x4x6"),
      AllOf(HasSubstr("stablehlo::transpose(x)"), HasSubstr("permutation=[0, 3, 1, 2]"),
            HasSubstr("stablehlo::transpose(w)"), HasSubstr("permutation=[3, 2, 0, 1]"),
            HasSubstr("dilations=[1, 1] group=1 pads=[0, 0, 1, 1] strides=[2, 2]"),
            HasSubstr("permutation=[0, 2, 3, 1]")));
}

TEST(ConvolutionTest, GroupsOfChannelsAndOfSamples) {
  EXPECT_THAT(Convolved(", feature_group_count = 2 : i64", "2x6x6x6", "3x3x2x6"), HasSubstr("group=2"));
  // The derivative by a grouped kernel: halves of the batch become channels.
  EXPECT_THAT(Convolved(", batch_group_count = 2 : i64", "1x6x6x6"),
              AllOf(HasSubstr("f32[1,8,8,8]"), HasSubstr("group=2")));
  EXPECT_THAT(Convolved(", feature_group_count = 3 : i64", "2x6x6x6"), HasSubstr("the groups do not divide"));
}

TEST(ConvolutionTest, SpreadDataIsATransposedConvolution) {
  const std::string dump =
      Convolved(", lhs_dilation = array<i64: 2, 2>, padding = dense<[[2, 1], [3, 0]]> : tensor<2x2xi64>", "2x16x16x6");
  EXPECT_THAT(dump, HasSubstr("output_padding=[0, 0] pads=[0, 0, 1, 2] strides=[2, 2]"));
  EXPECT_THAT(dump, HasSubstr("stablehlo::reverse"));  // of the kernel, as it was not turned
  EXPECT_THAT(dump, HasSubstr("f32[2,6,16,15]"));      // and a border that no window reaches
}

TEST(ConvolutionTest, AKernelThatIsTurnedTwiceIsTheKernel) {
  const std::string dump = ReadMain(
      "%x: tensor<1x8x4xf32>, %w: tensor<3x4x4xf32>",
      "%r = \"stablehlo.reverse\"(%w) <{dimensions = array<i64: 0>}> : (tensor<3x4x4xf32>) -> tensor<3x4x4xf32>\n"
      "%y = \"stablehlo.convolution\"(%x, %r) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, o, i]->[b, 0, f]>, "
      "window_reversal = array<i1: true>, padding = dense<1> : tensor<1x2xi64>}> : (tensor<1x8x4xf32>, "
      "tensor<3x4x4xf32>) -> tensor<1x8x4xf32>\n\"func.return\"(%y) : (tensor<1x8x4xf32>) -> ()");
  EXPECT_THAT(dump, AllOf(HasSubstr("stablehlo::convolution"), Not(HasSubstr("stablehlo::reverse"))));
}

TEST(ConvolutionTest, StridesOverSpreadDataAndNegativeBordersAreMadeBefore) {
  EXPECT_THAT(
      Convolved(", lhs_dilation = array<i64: 2, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[0, 0], "
                "[-1, 0]]> : tensor<2x2xi64>",
                "2x7x5x6"),
      AllOf(HasSubstr("stablehlo::pad"), HasSubstr("stablehlo::slice"), HasSubstr("stablehlo::convolution(")));
}

TEST(ConvolutionTest, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(Convolved("", "2x6x6x5"),
              HasSubstr("m.mlir:4:6: stablehlo.convolution: the result has to be [2, 6, 6, 6]"));
  EXPECT_THAT(Convolved("", "2x6x6x6", "3x3x4x6", "[b, 0, 2, f]x[0, 1, i, o]->[b, 0, 1, f]"),
              HasSubstr("expected the labels b, f, 0, 1; found b, 0, 2, f"));
  EXPECT_THAT(Convolved(", window_strides = array<i64: 0, 1>", "2x6x6x6"), HasSubstr("window_strides is out of range"));
  EXPECT_THAT(Convolved(", window_strides = array<i64: 1>", "2x6x6x6"),
              HasSubstr("expected 2 numbers of window_strides"));
}

}  // namespace
}  // namespace sbp
