// rules/index.rules: shapes and candidates of each op on one mesh axis of two ranks.
#include <gtest/gtest.h>

#include "unit/rules/op_call.h"

namespace sbp {
namespace {

TEST(IndexRules, Gather) {
  ExpectRows({
      {"Gather(f32[1024,64], i64[8,16])", "f32[8,16,64]",
       "B, S(0) -> S(0) | B, S(1) -> S(1) | S(1), B -> S(2) | S(0), B -> P(sum) | P(sum), B -> P(sum) | "
       "P(max), B -> P(max) | P(min), B -> P(min)"},
      {"Gather(bool[8,4], i64[6])", "bool[6,4]",
       "B, S(0) -> S(0) | S(1), B -> S(1) | S(0), B -> P(max) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(IndexRules, GatherElements) {
  ExpectRows({
      {"GatherElements(f32[8,12], i64[8,4], axis=1)", "f32[8,4]",
       "S(0), S(0) -> S(0) | B, S(1) -> S(1) | S(1), B -> P(sum) | P(sum), B -> P(sum) | P(max), B -> P(max) | "
       "P(min), B -> P(min)"},
      {"GatherElements(f32[8,12], i64[4,4], axis=1)", "f32[4,4]",
       "B, S(1) -> S(1) | S(1), B -> P(sum) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(IndexRules, GatherND) {
  ExpectRows({
      {"GatherND(f32[8,16,32], i64[64,2])", "f32[64,32]",
       "B, S(0) -> S(0) | S(2), B -> S(1) | S(0), B -> P(sum) | S(1), B -> P(sum) | P(sum), B -> P(sum) | "
       "P(max), B -> P(max) | P(min), B -> P(min)"},
      {"GatherND(f32[4,8,16], i64[4,3,1], batch_dims=1)", "f32[4,3,16]",
       "S(0), S(0) -> S(0) | B, S(1) -> S(1) | S(2), B -> S(2) | S(1), B -> P(sum) | P(sum), B -> P(sum) | "
       "P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(IndexRules, ScatterElements) {
  ExpectRows({
      {"ScatterElements(f32[8,12], i64[8,4], f32[8,4], axis=1)", "f32[8,12]",
       "S(0), S(0), S(0) -> S(0) | S(1), B, B -> S(1) | P(sum), B, P(sum) -> P(sum) | "
       "P(max), B, P(max) -> P(max) | P(min), B, P(min) -> P(min) | P(max), B, B -> P(max) | "
       "P(min), B, B -> P(min) | B, B, P(max) -> P(max) | B, B, P(min) -> P(min)"},
      {"ScatterElements(f32[8,12], i64[8,4], f32[8,4], axis=1, reduction=\"add\")", "f32[8,12]",
       "S(0), S(0), S(0) -> S(0) | S(1), B, B -> S(1) | P(sum), S(1), S(1) -> P(sum) | "
       "P(sum), B, P(sum) -> P(sum) | P(max), B, B -> P(max) | P(min), B, B -> P(min)"},
      {"ScatterElements(f32[8,12], i64[8,4], f32[8,4], axis=1, reduction=\"max\")", "f32[8,12]",
       "S(0), S(0), S(0) -> S(0) | S(1), B, B -> S(1) | B, S(1), S(1) -> P(max) | P(max), B, B -> P(max) | "
       "P(min), B, B -> P(min) | P(max), S(1), S(1) -> P(max) | P(max), B, P(max) -> P(max) | "
       "B, B, P(max) -> P(max)"},
      {"ScatterElements(f32[8,12], i64[8,4], f32[8,4], axis=1, reduction=\"mul\")", "f32[8,12]",
       "S(0), S(0), S(0) -> S(0) | S(1), B, B -> S(1) | P(sum), B, B -> P(sum) | "
       "P(prod), S(1), S(1) -> P(prod) | P(prod), B, P(prod) -> P(prod)"},
  });
}

TEST(IndexRules, ScatterND) {
  ExpectRows({
      {"ScatterND(f32[128,32], i64[64,1], f32[64,32])", "f32[128,32]",
       "S(0), B, B -> S(0) | S(1), B, S(1) -> S(1) | P(sum), B, P(sum) -> P(sum) | P(max), B, P(max) -> P(max) | "
       "P(min), B, P(min) -> P(min) | P(max), B, B -> P(max) | P(min), B, B -> P(min) | B, B, P(max) -> P(max) | "
       "B, B, P(min) -> P(min)"},
      {"ScatterND(f32[128,32], i64[64,1], f32[64,32], reduction=\"add\")", "f32[128,32]",
       "S(0), B, B -> S(0) | S(1), B, S(1) -> S(1) | P(sum), S(0), S(0) -> P(sum) | "
       "P(sum), B, P(sum) -> P(sum) | P(max), B, B -> P(max) | P(min), B, B -> P(min)"},
  });
}

TEST(IndexRules, TensorScatter) {
  ExpectRows({
      {"TensorScatter(f32[2,4,16,8], f32[2,4,1,8], i64[2])", "f32[2,4,16,8]",
       "S(0), S(0), S(0) -> S(0) | S(1), S(1), B -> S(1) | S(2), B, B -> S(2) | S(3), S(3), B -> S(3) | "
       "P(sum), P(sum), B -> P(sum) | P(max), P(max), B -> P(max) | P(min), P(min), B -> P(min) | "
       "P(max), B, B -> P(max) | P(min), B, B -> P(min) | B, P(max), B -> P(max) | B, P(min), B -> P(min)"},
  });
}

TEST(IndexRules, OneHot) {
  ExpectRows({
      {"OneHot(i64[8,16], i64[]{64}, f32[2])", "f32[8,16,64]",
       "S(0), B, B -> S(0) | S(1), B, B -> S(1) | B, B, B -> S(2) | B, B, P(sum) -> P(sum) | "
       "B, B, P(max) -> P(max) | B, B, P(min) -> P(min)"},
  });
}

TEST(IndexRules, Compress) {
  ExpectRows({
      {"Compress(f32[8,12], bool[8], axis=0)", "f32[8,12]",
       "S(1), B -> S(1) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
      {"Compress(f32[8,12], bool[4]{1,0,1,1}, axis=0)", "f32[3,12]",
       "S(1), B -> S(1) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(IndexRules, NonZero) {
  ExpectRows({
      {"NonZero(f32[8,12])", "i64[2,96]", ""},
  });
}

TEST(IndexRules, Unique) {
  ExpectRows({
      {"Unique(f32[8])", "f32[8], i64[8], i64[8], i64[8]", "", 4},
  });
}

TEST(IndexRules, TopK) {
  ExpectRows({
      {"TopK(f32[8,12], i64[1]{4})", "f32[8,4], i64[8,4]", "S(0), B -> S(0), S(0)", 2},
  });
}

TEST(IndexRules, Trilu) {
  ExpectRows({
      {"Trilu(f32[4,8,8])", "f32[4,8,8]",
       "S(0) -> S(0) | S(1) -> S(1) | S(2) -> S(2) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
      {"Trilu(f32[4,8,8], i64[]{1}, upper=0)", "f32[4,8,8]",
       "S(0), B -> S(0) | S(1), B -> S(1) | S(2), B -> S(2) | P(sum), B -> P(sum) | P(max), B -> P(max) | "
       "P(min), B -> P(min)"},
  });
}

TEST(IndexRules, ReverseSequence) {
  ExpectRows({
      {"ReverseSequence(f32[8,4], i64[4])", "f32[8,4]",
       "S(1), S(0) -> S(1) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
  });
}

TEST(IndexRules, CumSum) {
  ExpectRows({
      {"CumSum(f32[8,4], i64[]{1})", "f32[8,4]", "S(0), B -> S(0) | P(sum), B -> P(sum)"},
  });
}

TEST(IndexRules, NonMaxSuppression) {
  ExpectRows({
      {"NonMaxSuppression(f32[1,100,4], f32[1,3,100], i64[1]{10})", "i64[30,3]", ""},
  });
}

TEST(IndexRules, Scatter) {
  ExpectRows({
      {"Scatter(f32[8,12], i64[8,4], f32[8,4], axis=1)", "f32[8,12]",
       "S(0), S(0), S(0) -> S(0) | S(1), B, B -> S(1) | P(sum), B, P(sum) -> P(sum) | "
       "P(max), B, P(max) -> P(max) | P(min), B, P(min) -> P(min) | P(max), B, B -> P(max) | "
       "P(min), B, B -> P(min) | B, B, P(max) -> P(max) | B, B, P(min) -> P(min)"},
  });
}

TEST(IndexRules, CumProd) {
  ExpectRows({
      {"CumProd(f32[8,4], i64[]{0})", "f32[8,4]", "S(1), B -> S(1)"},
  });
}

TEST(IndexRules, Errors) {
  EXPECT_EQ(AskOp("Gather(f32[8,4], i64[], axis=2)").status().message(), "Gather(): axis 2 is not in [-2, 1]");
  EXPECT_EQ(AskOp("ScatterElements(f32[8,12], i64[8,4], f32[8,5], axis=1)").status().message(),
            "ScatterElements(): updates f32[8,5] must have the shape of indices i64[8,4]");
  EXPECT_EQ(AskOp("ScatterND(f32[128,32], i64[64,1], f32[64,31])").status().message(),
            "ScatterND(): updates f32[64,31] must be [64,32] for these data and indices");
  EXPECT_EQ(AskOp("TopK(f32[8,12], i64[1]{40})", 2).status().message(),
            "TopK(): k is 40, but dimension 1 has 12 elements");
}

}  // namespace
}  // namespace sbp
