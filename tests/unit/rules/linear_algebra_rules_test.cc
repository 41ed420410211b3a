// rules/linear_algebra.rules: shapes and candidates of each op on one mesh axis of two ranks.
#include <gtest/gtest.h>

#include "unit/rules/op_call.h"

namespace sbp {
namespace {

TEST(LinearAlgebraRules, MatMul) {
  ExpectRows({
      {"MatMul(f32[16,32], f32[32,64])", "f32[16,64]",
       "S(0), B -> S(0) | B, S(1) -> S(1) | S(1), S(0) -> P(sum) | P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
      {"MatMul(f32[4,16,32], f32[32,64])", "f32[4,16,64]",
       "S(0), B -> S(0) | S(1), B -> S(1) | B, S(1) -> S(2) | S(2), S(0) -> P(sum) | P(sum), B -> P(sum) | "
       "B, P(sum) -> P(sum)"},
      {"MatMul(f32[32], f32[32])", "f32[]", "S(0), S(0) -> P(sum) | P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
      {"MatMul(f32[5,1,4,8], f32[3,8,2])", "f32[5,3,4,2]",
       "S(0), B -> S(0) | B, S(0) -> S(1) | S(2), B -> S(2) | B, S(2) -> S(3) | S(3), S(1) -> P(sum) | "
       "P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
      {"MatMul(f32[8], f32[3,8,2])", "f32[3,2]",
       "B, S(0) -> S(0) | B, S(2) -> S(1) | S(0), S(1) -> P(sum) | P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
  });
}

TEST(LinearAlgebraRules, Gemm) {
  ExpectRows({
      {"Gemm(f32[16,32], f32[64,32], f32[64], transB=1)", "f32[16,64]",
       "S(0), B, B -> S(0) | B, S(0), S(0) -> S(1) | S(1), S(1), P(sum) -> P(sum) | "
       "P(sum), B, P(sum) -> P(sum) | B, P(sum), P(sum) -> P(sum) | B, B, P(max) -> P(max) | "
       "B, B, P(min) -> P(min)"},
      {"Gemm(f32[16,32], f32[32,64])", "f32[16,64]",
       "S(0), B -> S(0) | B, S(1) -> S(1) | S(1), S(0) -> P(sum) | P(sum), B -> P(sum) | B, P(sum) -> P(sum)"},
      {"Gemm(f32[32,16], f32[32,64], f32[16,1], transA=1, beta=-1)", "f32[16,64]",
       "S(1), B, S(0) -> S(0) | B, S(1), B -> S(1) | S(0), S(0), P(sum) -> P(sum) | "
       "P(sum), B, P(sum) -> P(sum) | B, P(sum), P(sum) -> P(sum) | B, B, P(max) -> P(min) | "
       "B, B, P(min) -> P(max)"},
  });
}

TEST(LinearAlgebraRules, Einsum) {
  ExpectRows({
      {"Einsum(f32[4,8,12], f32[12,16], equation=\"bik,kj->bij\")", "f32[4,8,16]",
       "S(0), B -> S(0) | S(1), B -> S(1) | B, S(1) -> S(2) | S(2), S(0) -> P(sum) | P(sum), B -> P(sum) | "
       "B, P(sum) -> P(sum)"},
      {"Einsum(f32[8,8], equation=\"ii->i\")", "f32[8]", "P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
      {"Einsum(f32[2,4,8], f32[8,6], equation=\"...i,ij\")", "f32[2,4,6]",
       "S(0), B -> S(0) | S(1), B -> S(1) | B, S(1) -> S(2) | S(2), S(0) -> P(sum) | P(sum), B -> P(sum) | "
       "B, P(sum) -> P(sum)"},
      {"Einsum(f32[8,4], f32[4,8], f32[8,4], equation=\"ij,jk,kl->il\")", "f32[8,4]",
       "S(0), B, B -> S(0) | B, B, S(1) -> S(1) | S(1), S(0), B -> P(sum) | B, S(1), S(0) -> P(sum) | "
       "P(sum), B, B -> P(sum) | B, P(sum), B -> P(sum) | B, B, P(sum) -> P(sum)"},
  });
}

TEST(LinearAlgebraRules, Errors) {
  EXPECT_EQ(AskOp("MatMul(f32[4,8], f32[9,2])").status().message(),
            "MatMul(): sizes of k differ: 8 in 'a' (dimension 1 of f32[4,8]), 9 in 'b' (dimension 0 of f32[9,2])");
  EXPECT_EQ(AskOp("Gemm(f32[16,32], f32[33,64])").status().message(),
            "Gemm(): the inner sizes of a f32[16,32] and b f32[33,64] differ");
  EXPECT_EQ(AskOp("Gemm(f32[16,32], f32[32,64], f32[3])").status().message(),
            "Gemm(): C f32[3] does not broadcast to [16,64]");
  EXPECT_EQ(AskOp("Einsum(f32[4,6], equation=\"ij->k\")").status().message(),
            "Einsum(): equation: the result has a letter that no operand has");
  EXPECT_EQ(AskOp("Einsum(f32[4,6], equation=\"i,j->ij\")").status().message(),
            "Einsum(): equation \"i,j->ij\" names 2 operands, but 1 are given");
}

}  // namespace
}  // namespace sbp
