// rules/reduction.rules: shapes and candidates of each op on one mesh axis of two ranks.
#include <gtest/gtest.h>

#include "unit/rules/op_call.h"

namespace sbp {
namespace {

TEST(ReductionRules, ReduceSum) {
  ExpectRows({
      {"ReduceSum(f32[4,8,12], i64[1]{1})", "f32[4,1,12]",
       "S(0), B -> S(0) | S(2), B -> S(2) | S(1), B -> P(sum) | P(sum), B -> P(sum)"},
      {"ReduceSum(f32[4,8], i64[0]{}, noop_with_empty_axes=1)", "f32[4,8]",
       "S(0), B -> S(0) | S(1), B -> S(1) | P(sum), B -> P(sum)"},
  });
}

TEST(ReductionRules, ReduceMean) {
  ExpectRows({
      {"ReduceMean(f32[4,8,12], i64[2]{1,-1}, keepdims=0)", "f32[4]",
       "S(0), B -> S(0) | S(1), B -> P(sum) | S(2), B -> P(sum) | P(sum), B -> P(sum)"},
      {"ReduceMean(i32[4,8], i64[1]{1})", "i32[4,1]", "S(0), B -> S(0)"},
  });
}

TEST(ReductionRules, ReduceMax) {
  ExpectRows({
      {"ReduceMax(f32[4,8])", "f32[1,1]", "S(0) -> P(max) | S(1) -> P(max) | P(max) -> P(max)"},
      {"ReduceMax(bool[4,8], i64[1]{1})", "bool[4,1]", "S(0), B -> S(0) | S(1), B -> P(max) | P(max), B -> P(max)"},
  });
}

TEST(ReductionRules, ReduceL2) {
  ExpectRows({
      {"ReduceL2(f32[4,8], i64[1]{1})", "f32[4,1]", "S(0), B -> S(0)"},
  });
}

TEST(ReductionRules, ArgMax) {
  ExpectRows({
      {"ArgMax(f32[4,8], axis=1, keepdims=0)", "i64[4]", "S(0) -> S(0)"},
  });
}

TEST(ReductionRules, ReduceMin) {
  ExpectRows({
      {"ReduceMin(f32[4,8], i64[1]{0})", "f32[1,8]", "S(1), B -> S(1) | S(0), B -> P(min) | P(min), B -> P(min)"},
  });
}

TEST(ReductionRules, ReduceProd) {
  ExpectRows({
      {"ReduceProd(f32[4,8], i64[1]{0}, keepdims=0)", "f32[8]",
       "S(1), B -> S(0) | S(0), B -> P(prod) | P(prod), B -> P(prod)"},
  });
}

TEST(ReductionRules, ReduceL1) {
  ExpectRows({
      {"ReduceL1(f32[4,8], i64[1]{1})", "f32[4,1]", "S(0), B -> S(0) | S(1), B -> P(sum)"},
  });
}

TEST(ReductionRules, ReduceSumSquare) {
  ExpectRows({
      {"ReduceSumSquare(f32[4,8], i64[1]{1})", "f32[4,1]", "S(0), B -> S(0) | S(1), B -> P(sum)"},
  });
}

TEST(ReductionRules, ReduceLogSum) {
  ExpectRows({
      {"ReduceLogSum(f32[4,8], i64[1]{1})", "f32[4,1]", "S(0), B -> S(0)"},
  });
}

TEST(ReductionRules, ReduceLogSumExp) {
  ExpectRows({
      {"ReduceLogSumExp(f32[4,8], i64[1]{1})", "f32[4,1]", "S(0), B -> S(0)"},
  });
}

TEST(ReductionRules, ArgMin) {
  ExpectRows({
      {"ArgMin(f32[4,8])", "i64[1,8]", "S(1) -> S(1)"},
  });
}

TEST(ReductionRules, Errors) {
  EXPECT_EQ(AskOp("ReduceSum(f32[4,8], i64[1]{2})").status().message(), "ReduceSum(): axis 2 is not in [-2, 1]");
}

}  // namespace
}  // namespace sbp
