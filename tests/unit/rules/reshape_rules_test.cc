// rules/reshape.rules: shapes and candidates of each op on one mesh axis of two ranks.
#include <gtest/gtest.h>

#include "unit/rules/op_call.h"

namespace sbp {
namespace {

TEST(ReshapeRules, Reshape) {
  ExpectRows({
      {"Reshape(f32[6,12,24,48], i64[4]{72,24,6,8})", "f32[72,24,6,8]",
       "S(0), B -> S(0) | S(2), B -> S(1) | S(3), B -> S(2) | P(sum), B -> P(sum) | P(max), B -> P(max) | "
       "P(min), B -> P(min)"},
      {"Reshape(f32[6,4], i64[2]{4,6})", "f32[4,6]",
       "S(0), B -> S(0) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
      {"Reshape(f32[4,6], i64[3]{0,-1,3})", "f32[4,2,3]",
       "S(0), B -> S(0) | S(1), B -> S(1) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(ReshapeRules, Flatten) {
  ExpectRows({
      {"Flatten(f32[4,8,12], axis=2)", "f32[32,12]",
       "S(0) -> S(0) | S(2) -> S(1) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
  });
}

TEST(ReshapeRules, Squeeze) {
  ExpectRows({
      {"Squeeze(f32[8,1,12])", "f32[8,12]",
       "S(0) -> S(0) | S(2) -> S(1) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
      {"Squeeze(f32[8,1,12], i64[1]{1})", "f32[8,12]",
       "S(0), B -> S(0) | S(2), B -> S(1) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(ReshapeRules, Unsqueeze) {
  ExpectRows({
      {"Unsqueeze(f32[8,12], i64[2]{0,-1})", "f32[1,8,12,1]",
       "S(0), B -> S(1) | S(1), B -> S(2) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(ReshapeRules, Transpose) {
  ExpectRows({
      {"Transpose(f32[4,8,12], perm=[0,2,1])", "f32[4,12,8]",
       "S(0) -> S(0) | S(2) -> S(1) | S(1) -> S(2) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
      {"Transpose(f32[4,6])", "f32[6,4]",
       "S(1) -> S(0) | S(0) -> S(1) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
  });
}

TEST(ReshapeRules, DepthToSpace) {
  ExpectRows({
      {"DepthToSpace(f32[4,16,4,4], blocksize=2)", "f32[4,4,8,8]",
       "S(0) -> S(0) | S(2) -> S(2) | S(3) -> S(3) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
      {"DepthToSpace(f32[4,16,4,4], blocksize=2, mode=\"CRD\")", "f32[4,4,8,8]",
       "S(0) -> S(0) | S(1) -> S(1) | S(2) -> S(2) | S(3) -> S(3) | P(sum) -> P(sum) | P(max) -> P(max) | "
       "P(min) -> P(min)"},
  });
}

TEST(ReshapeRules, SpaceToDepth) {
  ExpectRows({
      {"SpaceToDepth(f32[4,4,8,8], blocksize=2)", "f32[4,16,4,4]",
       "S(0) -> S(0) | S(2) -> S(2) | S(3) -> S(3) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
      {"SpaceToDepth(f32[4,4,8,8], blocksize=2, mode=\"CRD\")", "f32[4,16,4,4]",
       "S(0) -> S(0) | S(1) -> S(1) | S(2) -> S(2) | S(3) -> S(3) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> "
       "P(min)"},
  });
}

TEST(ReshapeRules, Expand) {
  ExpectRows({
      {"Expand(f32[8,1,12], i64[3]{8,4,1})", "f32[8,4,12]",
       "S(0), B -> S(0) | B, B -> S(1) | S(2), B -> S(2) | P(sum), B -> P(sum) | P(max), B -> P(max) | "
       "P(min), B -> P(min)"},
      {"Expand(f32[12], i64[2]{8,1})", "f32[8,12]",
       "B, B -> S(0) | S(0), B -> S(1) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(ReshapeRules, Tile) {
  ExpectRows({
      {"Tile(f32[8,12], i64[2]{1,2})", "f32[8,24]",
       "S(0), B -> S(0) | B, B -> S(1) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(ReshapeRules, CenterCropPad) {
  ExpectRows({
      {"CenterCropPad(f32[8,12], i64[2]{8,10})", "f32[8,10]",
       "S(0), B -> S(0) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(ReshapeRules, Col2Im) {
  ExpectRows({
      {"Col2Im(f32[4,32,16], i64[2]{8,8}, i64[2]{2,2}, strides=[2,2])", "f32[4,8,8,8]",
       "S(0), B, B -> S(0) | S(1), B, B -> S(1) | S(2), B, B -> P(sum) | P(sum), B, B -> P(sum)"},
  });
}

TEST(ReshapeRules, Identity) {
  ExpectRows({
      {"Identity(f32[])", "f32[]", "P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
  });
}

TEST(ReshapeRules, Errors) {
  EXPECT_EQ(AskOp("Reshape(f32[4,6], i64[1]{5})").status().message(),
            "Reshape(): shape [5] does not hold the 24 elements of f32[4,6]");
  EXPECT_EQ(AskOp("Reshape(f32[4,6], i64[1])").status().message(),
            "Reshape(): the value of 'shape' (operand 1) must be known, and is not");
  EXPECT_EQ(AskOp("Transpose(f32[4,6], perm=[0,0])").status().message(),
            "Transpose(): perm [0,0] is no permutation of the dimensions of f32[4,6]");
}

}  // namespace
}  // namespace sbp
