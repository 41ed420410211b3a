// rules/convolution.rules: shapes and candidates of each op on one mesh axis of two ranks.
#include <gtest/gtest.h>

#include "unit/rules/op_call.h"

namespace sbp {
namespace {

TEST(ConvolutionRules, Conv) {
  ExpectRows({
      {"Conv(f32[8,4,8,8], f32[8,4,3,3], f32[8], pads=[1,1,1,1])", "f32[8,8,8,8]",
       "S(0), B, B -> S(0) | B, S(0), S(0) -> S(1) | S(1), S(1), P(sum) -> P(sum) | "
       "P(sum), B, P(sum) -> P(sum) | B, P(sum), P(sum) -> P(sum) | B, B, P(max) -> P(max) | "
       "B, B, P(min) -> P(min) | S(2), B, B -> S(2) | S(3), B, B -> S(3)"},
      {"Conv(f32[8,4,8,8], f32[8,4,2,2], strides=[2,2])", "f32[8,8,4,4]",
       "S(0), B -> S(0) | B, S(0) -> S(1) | S(2), B -> S(2) | S(3), B -> S(3) | S(1), S(1) -> P(sum) | "
       "P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
      {"Conv(f32[4,8,8,8], f32[8,1,3,3], f32[8], pads=[1,1,1,1], group=8)", "f32[4,8,8,8]",
       "S(0), B, B -> S(0) | S(1), S(0), S(0) -> S(1) | P(sum), B, P(sum) -> P(sum) | "
       "B, P(sum), P(sum) -> P(sum) | B, B, P(max) -> P(max) | B, B, P(min) -> P(min) | S(2), B, B -> S(2) | "
       "S(3), B, B -> S(3)"},
      {"Conv(f32[4,8,16], f32[12,8,1])", "f32[4,12,16]",
       "S(0), B -> S(0) | B, S(0) -> S(1) | S(2), B -> S(2) | S(1), S(1) -> P(sum) | P(sum), B -> P(sum) | "
       "B, P(sum) -> P(sum)"},
      {"Conv(f32[8,3,224,224], f32[64,3,7,7], strides=[2,2], pads=[3,3,3,3])", "f32[8,64,112,112]",
       "S(0), B -> S(0) | B, S(0) -> S(1) | S(1), S(1) -> P(sum) | P(sum), B -> P(sum) | B, P(sum) -> P(sum) | "
       "S(2), B -> S(2) | S(3), B -> S(3)"},
      {"Conv(f32[2,8,8,8], f32[8,4,1,1], group=2)", "f32[2,8,8,8]",
       "S(0), B -> S(0) | S(1), S(0) -> S(1) | S(2), B -> S(2) | S(3), B -> S(3) | P(sum), B -> P(sum) | "
       "B, P(sum) -> P(sum)"},
      {"Conv(f32[1,1,15], f32[2,1,4], auto_pad=\"SAME_UPPER\", strides=[2])", "f32[1,2,8]",
       "B, S(0) -> S(1) | P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
  });
}

TEST(ConvolutionRules, ConvTranspose) {
  ExpectRows({
      {"ConvTranspose(f32[4,8,8,8], f32[8,4,2,2], f32[4], strides=[2,2])", "f32[4,4,16,16]",
       "S(0), B, B -> S(0) | B, S(1), S(0) -> S(1) | S(2), B, B -> S(2) | S(3), B, B -> S(3) | "
       "S(1), S(0), P(sum) -> P(sum) | P(sum), B, P(sum) -> P(sum) | B, P(sum), P(sum) -> P(sum) | "
       "B, B, P(max) -> P(max) | B, B, P(min) -> P(min)"},
      {"ConvTranspose(f32[1,8,5], f32[8,2,3], strides=[2], pads=[1,1], output_padding=[1], group=2)", "f32[1,4,10]",
       "S(1), S(0) -> S(1) | P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
      {"ConvTranspose(f32[1,8,5], f32[8,2,3], strides=[2], output_shape=[10])", "f32[1,2,10]",
       "B, S(1) -> S(1) | S(1), S(0) -> P(sum) | P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
  });
}

TEST(ConvolutionRules, ConvInteger) {
  ExpectRows({
      {"ConvInteger(u8[1,4,8,8], u8[6,4,3,3], u8[], u8[6])", "i32[1,6,6,6]",
       "B, S(0), B, S(0) -> S(1) | S(1), S(1), B, B -> P(sum)"},
  });
}

TEST(ConvolutionRules, QLinearConv) {
  ExpectRows({
      {"QLinearConv(u8[2,4,8,8], f32[], u8[], i8[6,4,3,3], f32[6], i8[6], f32[], i8[], i32[6])", "i8[2,6,6,6]",
       "S(0), B, B, B, B, B, B, B, B -> S(0) | B, B, B, S(0), S(0), S(0), B, B, S(0) -> S(1)"},
  });
}

TEST(ConvolutionRules, DeformConv) {
  ExpectRows({
      {"DeformConv(f32[2,4,8,8], f32[6,4,3,3], f32[2,18,6,6], -, f32[2,9,6,6])", "f32[2,6,6,6]",
       "S(0), B, S(0), B, S(0) -> S(0) | B, S(0), B, B, B -> S(1) | B, B, S(2), B, S(2) -> S(2) | "
       "B, B, S(3), B, S(3) -> S(3) | S(1), S(1), B, B, B -> P(sum) | P(sum), B, B, B, B -> P(sum) | "
       "B, P(sum), B, B, B -> P(sum) | B, B, B, B, P(sum) -> P(sum)"},
  });
}

TEST(ConvolutionRules, Errors) {
  EXPECT_EQ(AskOp("Conv(f32[8,16], f32[4,16,3,3])").status().message(),
            "Conv(): X f32[8,16] and W f32[4,16,3,3] must have equally many dimensions");
  EXPECT_EQ(AskOp("Conv(f32[2,3,8,8], f32[4,5,3,3])").status().message(),
            "Conv(): X f32[2,3,8,8] and W f32[4,5,3,3] do not fit 1 groups of 5 input channels");
  EXPECT_EQ(AskOp("Conv(f32[2,8,8,8], f32[8,8,9,9])").status().message(),
            "Conv(): a window that reaches over 9 elements does not fit a dimension of 8 padded by 0 and 0");
}

}  // namespace
}  // namespace sbp
