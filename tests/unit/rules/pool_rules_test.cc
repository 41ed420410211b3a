// rules/pool.rules: shapes and candidates of each op on one mesh axis of two ranks.
#include <gtest/gtest.h>

#include "unit/rules/op_call.h"

namespace sbp {
namespace {

TEST(PoolRules, AveragePool) {
  ExpectRows({
      {"AveragePool(f32[4,8,16], kernel_shape=[2], strides=[2])", "f32[4,8,8]",
       "S(0) -> S(0) | S(1) -> S(1) | S(2) -> S(2) | P(sum) -> P(sum)"},
  });
}

TEST(PoolRules, MaxPool) {
  ExpectRows({
      {"MaxPool(f32[4,8,8,8], kernel_shape=[2,2], strides=[2,2])", "f32[4,8,4,4], i64[4,8,4,4]",
       "S(0) -> S(0), S(0) | S(1) -> S(1), S(1) | S(2) -> S(2), S(2) | S(3) -> S(3), S(3)", 2},
      {"MaxPool(f32[4,8,112,112], kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1])", "f32[4,8,56,56]",
       "S(0) -> S(0) | S(1) -> S(1) | P(max) -> P(max) | S(2) -> S(2) | S(3) -> S(3)"},
      {"MaxPool(f32[1,2,7,7], kernel_shape=[2,2], strides=[2,2], ceil_mode=1)", "f32[1,2,4,4]",
       "S(1) -> S(1) | P(max) -> P(max)"},
  });
}

TEST(PoolRules, GlobalAveragePool) {
  ExpectRows({
      {"GlobalAveragePool(f32[4,8,8,8])", "f32[4,8,1,1]",
       "S(0) -> S(0) | S(1) -> S(1) | S(2) -> P(sum) | S(3) -> P(sum) | P(sum) -> P(sum)"},
  });
}

TEST(PoolRules, GlobalMaxPool) {
  ExpectRows({
      {"GlobalMaxPool(f32[4,8,8,8])", "f32[4,8,1,1]",
       "S(0) -> S(0) | S(1) -> S(1) | S(2) -> P(max) | S(3) -> P(max) | P(max) -> P(max)"},
  });
}

TEST(PoolRules, GlobalLpPool) {
  ExpectRows({
      {"GlobalLpPool(f32[4,8,8,8])", "f32[4,8,1,1]", "S(0) -> S(0) | S(1) -> S(1)"},
      {"GlobalLpPool(f32[4,8,8,8], p=1)", "f32[4,8,1,1]",
       "S(0) -> S(0) | S(1) -> S(1) | S(2) -> P(sum) | S(3) -> P(sum)"},
  });
}

TEST(PoolRules, MaxUnpool) {
  ExpectRows({
      {"MaxUnpool(f32[1,2,4,4], i64[1,2,4,4], kernel_shape=[2,2], strides=[2,2])", "f32[1,2,8,8]",
       "S(1), S(1) -> S(1) | P(sum), B -> P(sum)"},
      {"MaxUnpool(f32[1,2,4,4], i64[1,2,4,4], i64[4]{1,2,9,9}, kernel_shape=[2,2], strides=[2,2])", "f32[1,2,9,9]",
       "S(1), S(1), B -> S(1) | P(sum), B, B -> P(sum)"},
  });
}

TEST(PoolRules, MaxRoiPool) {
  ExpectRows({
      {"MaxRoiPool(f32[2,4,8,8], f32[6,5], pooled_shape=[2,2])", "f32[6,4,2,2]", "B, S(0) -> S(0) | S(1), B -> S(1)"},
  });
}

TEST(PoolRules, RoiAlign) {
  ExpectRows({
      {"RoiAlign(f32[2,4,8,8], f32[6,4], i64[6], output_height=2, output_width=3)", "f32[6,4,2,3]",
       "B, S(0), S(0) -> S(0) | S(1), B, B -> S(1) | S(0), B, B -> P(sum) | P(sum), B, B -> P(sum)"},
  });
}

TEST(PoolRules, Resize) {
  ExpectRows({
      {"Resize(f32[4,8,4,4], -, f32[4]{1,1,2,2})", "f32[4,8,8,8]",
       "S(0), B, B -> S(0) | S(1), B, B -> S(1) | S(2), B, B -> S(2) | S(3), B, B -> S(3) | "
       "P(sum), B, B -> P(sum) | P(max), B, B -> P(max) | P(min), B, B -> P(min)"},
      {"Resize(f32[4,8,4,4], -, f32[4]{1,1,2,2}, mode=\"linear\")", "f32[4,8,8,8]",
       "S(0), B, B -> S(0) | S(1), B, B -> S(1) | P(sum), B, B -> P(sum) | S(2), B, B -> S(2) | "
       "S(3), B, B -> S(3)"},
      {"Resize(f32[4,8,4,4], -, -, i64[4]{4,8,7,9}, mode=\"linear\")", "f32[4,8,7,9]",
       "S(0), B, B, B -> S(0) | S(1), B, B, B -> S(1) | P(sum), B, B, B -> P(sum)"},
      {"Resize(f32[4,8,4,6], -, -, i64[2]{8,8}, axes=[2,3], keep_aspect_ratio_policy=\"not_larger\")", "f32[4,8,5,8]",
       "S(0), B, B, B -> S(0) | S(1), B, B, B -> S(1) | P(sum), B, B, B -> P(sum) | P(max), B, B, B -> P(max) | "
       "P(min), B, B, B -> P(min)"},
      {"Resize(f32[1,2,4,4], -, f32[0]{}, i64[4]{1,2,8,8}, mode=\"cubic\", "
       "coordinate_transformation_mode=\"align_corners\")",
       "f32[1,2,8,8]", "S(1), B, B, B -> S(1) | P(sum), B, B, B -> P(sum)"},
  });
}

TEST(PoolRules, Upsample) {
  ExpectRows({
      {"Upsample(f32[1,2,4,4], f32[4]{1,1,2,2})", "f32[1,2,8,8]",
       "S(1), B -> S(1) | S(2), B -> S(2) | S(3), B -> S(3) | P(sum), B -> P(sum) | P(max), B -> P(max) | "
       "P(min), B -> P(min)"},
  });
}

TEST(PoolRules, GridSample) {
  ExpectRows({
      {"GridSample(f32[2,4,8,8], f32[2,6,6,2])", "f32[2,4,6,6]",
       "S(0), S(0) -> S(0) | S(1), B -> S(1) | B, S(1) -> S(2) | B, S(2) -> S(3) | P(sum), B -> P(sum)"},
  });
}

TEST(PoolRules, AffineGrid) {
  ExpectRows({
      {"AffineGrid(f32[2,2,3], i64[4]{2,4,8,8})", "f32[2,8,8,2]",
       "S(0), B -> S(0) | B, B -> S(1) | B, B -> S(2) | P(sum), B -> P(sum)"},
  });
}

TEST(PoolRules, LpPool) {
  ExpectRows({
      {"LpPool(f32[1,2,8,8], kernel_shape=[2,2], auto_pad=\"SAME_UPPER\")", "f32[1,2,8,8]",
       "S(1) -> S(1) | S(2) -> S(2) | S(3) -> S(3)"},
  });
}

TEST(PoolRules, Errors) {
  EXPECT_EQ(AskOp("Resize(f32[4,8,4,4])").status().message(), "Resize(): needs scales or sizes");
}

}  // namespace
}  // namespace sbp
