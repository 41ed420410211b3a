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

std::string PaddedBy(std::string_view low, std::string_view high, std::string_view interior, std::string_view result) {
  return ReadMain("%x: tensor<4x6xf32>, %v: tensor<f32>",
                  StrCat("%y = \"stablehlo.pad\"(%x, %v) <{edge_padding_low = array<i64: ", low,
                         ">, edge_padding_high = array<i64: ", high, ">, interior_padding = array<i64: ", interior,
                         ">}> : (tensor<4x6xf32>, tensor<f32>) -> tensor<", result,
                         "xf32>\n\"func.return\"(%y) : (tensor<", result, "xf32>) -> ()"));
}

TEST(PaddingTest, BordersAreOnePad) {
  EXPECT_THAT(PaddedBy("1, 0", "0, 2", "0, 0", "5x8"),
              AllOf(HasSubstr("stablehlo::pad(x, v)"), HasSubstr("pads=[1, 0, 0, 2]")));
  EXPECT_THAT(PaddedBy("0, 0", "0, 0", "0, 0", "4x6"), Not(HasSubstr("stablehlo::")));
}

TEST(PaddingTest, NegativeBordersAreSlices) {
  EXPECT_THAT(PaddedBy("-1, 0", "0, -2", "0, 0", "3x4"),
              AllOf(HasSubstr("limit_indices=[4, 4] start_indices=[1, 0]"), Not(HasSubstr("stablehlo::pad"))));
}

// Each element with what follows it, joined again: one too many behind the last one, which the border has not.
TEST(PaddingTest, BetweenNeighboursDimensionsAreSplit) {
  EXPECT_THAT(PaddedBy("0, 0", "0, 0", "0, 1", "4x11"),
              AllOf(HasSubstr("f32[4,6,1]"), HasSubstr("pads=[0, 0, 0, 0, 0, 1]"), HasSubstr("f32[4,12]"),
                    HasSubstr("limit_indices=[4, 11] start_indices=[0, 0]")));
}

TEST(PaddingTest, OfNothingBordersAreAll) {
  const std::string text =
      ReadMain("%x: tensor<0x6xf32>, %v: tensor<f32>",
               "%y = \"stablehlo.pad\"(%x, %v) <{edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: "
               "2, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<0x6xf32>, tensor<f32>) -> tensor<3x6xf32>\n"
               "\"func.return\"(%y) : (tensor<3x6xf32>) -> ()");
  EXPECT_THAT(text, AllOf(HasSubstr("f32[3,6]"), HasSubstr("v"), Not(HasSubstr("stablehlo::pad"))));
}

TEST(PaddingTest, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(PaddedBy("-5, 0", "0, 0", "0, 0", "4x6"),
              HasSubstr("m.mlir:4:6: stablehlo.pad: a border of this size is not read"));
  EXPECT_THAT(PaddedBy("1", "0", "0", "4x6"), HasSubstr("expected a border for each dimension"));
  EXPECT_THAT(PaddedBy("1, 0", "0, 0", "0, 0", "4x6"), HasSubstr("result 0 is f32[5,6], not f32[4,6]"));
}

}  // namespace
}  // namespace sbp
