// rules/join.rules: shapes and candidates of each op on one mesh axis of two ranks.
#include <gtest/gtest.h>

#include "unit/rules/op_call.h"

namespace sbp {
namespace {

TEST(JoinRules, Concat) {
  ExpectRows({
      {"Concat(f32[8,12], f32[8,4], axis=1)", "f32[8,16]",
       "S(0), S(0) -> S(0) | P(sum), P(sum) -> P(sum) | P(max), P(max) -> P(max) | P(min), P(min) -> P(min) | "
       "B, P(max) -> P(max) | B, P(min) -> P(min) | P(max), B -> P(max) | P(min), B -> P(min)"},
      {"Concat(f32[8,12], f32[0,12], axis=0)", "f32[8,12]",
       "S(0), B -> S(0) | S(1), S(1) -> S(1) | P(sum), P(sum) -> P(sum) | P(sum), B -> P(sum) | P(max), B -> P(max) | "
       "P(min), B -> P(min) | "
       // Nothing of an empty tensor is read.
       "B, P(sum) -> B | S(0), P(sum) -> S(0) | P(max), P(sum) -> P(max) | P(min), P(sum) -> P(min) | B, P(max) -> B | "
       "S(0), P(max) -> S(0) | P(sum), P(max) -> P(sum) | P(max), P(max) -> P(max) | P(min), P(max) -> P(min) | "
       "B, P(min) -> B | S(0), P(min) -> S(0) | P(sum), P(min) -> P(sum) | P(max), P(min) -> P(max) | "
       "P(min), P(min) -> P(min) | B, P(prod) -> B | S(0), P(prod) -> S(0) | P(sum), P(prod) -> P(sum) | "
       "P(max), P(prod) -> P(max) | P(min), P(prod) -> P(min)"},
      {"Concat(f32[4,8], f32[4,8], f32[4,8], f32[4,8], axis=-1)", "f32[4,32]",
       "S(0), S(0), S(0), S(0) -> S(0) | P(sum), P(sum), P(sum), P(sum) -> P(sum) | "
       "P(max), P(max), P(max), P(max) -> P(max) | P(min), P(min), P(min), P(min) -> P(min)"},
  });
}

TEST(JoinRules, Split) {
  ExpectRows({
      {"Split(f32[8,12], i64[2]{4,8}, axis=1)", "f32[8,4], f32[8,8]",
       "S(0), B -> S(0), S(0) | P(sum), B -> P(sum), P(sum) | P(max), B -> P(max), P(max) | "
       "P(min), B -> P(min), P(min)",
       2},
      {"Split(f32[8,10], axis=1, num_outputs=3)", "f32[8,4], f32[8,4], f32[8,2]",
       "S(0) -> S(0), S(0), S(0) | P(sum) -> P(sum), P(sum), P(sum) | P(max) -> P(max), P(max), P(max) | "
       "P(min) -> P(min), P(min), P(min)",
       3},
  });
}

TEST(JoinRules, Slice) {
  ExpectRows({
      {"Slice(f32[8,12], i64[1]{-4}, i64[1]{9223372036854775807}, i64[1]{0})", "f32[4,12]",
       "S(1), B, B, B -> S(1) | P(sum), B, B, B -> P(sum) | P(max), B, B, B -> P(max) | P(min), B, B, B -> P(min)"},
      {"Slice(f32[8,12], i64[1]{-1}, i64[1]{-9223372036854775807}, i64[1]{1}, i64[1]{-1})", "f32[8,12]",
       "S(0), B, B, B, B -> S(0) | P(sum), B, B, B, B -> P(sum) | P(max), B, B, B, B -> P(max) | "
       "P(min), B, B, B, B -> P(min)"},
      {"Slice(f32[8,12], i64[1], i64[1], i64[1]{1})", "f32[8,12]",
       "S(0), B, B, B -> S(0) | P(sum), B, B, B -> P(sum) | P(max), B, B, B -> P(max) | P(min), B, B, B -> P(min)"},
      {"Slice(f32[8,12], i64[1]{0}, i64[1]{8}, i64[1]{0})", "f32[8,12]",
       "S(0), B, B, B -> S(0) | S(1), B, B, B -> S(1) | P(sum), B, B, B -> P(sum) | P(max), B, B, B -> P(max) | "
       "P(min), B, B, B -> P(min)"},
  });
}

TEST(JoinRules, Pad) {
  ExpectRows({
      {"Pad(f32[8,12], i64[4]{0,1,0,1})", "f32[8,14]",
       "S(0), B -> S(0) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min)"},
      {"Pad(f32[8,12], i64[4]{0,1,0,1}, f32[]{2})", "f32[8,14]",
       "S(0), B, B -> S(0) | P(sum), B, P(sum) -> P(sum) | P(max), B, B -> P(max) | P(min), B, B -> P(min)"},
      {"Pad(f32[8,12], i64[2]{1,1}, f32[]{0}, i64[1]{-1})", "f32[8,14]",
       "S(0), B, B, B -> S(0) | P(sum), B, B, B -> P(sum) | P(sum), B, P(sum), B -> P(sum) | "
       "P(max), B, B, B -> P(max) | P(min), B, B, B -> P(min)"},
      {"Pad(f32[8,12], i64[4]{0,1,0,1}, -, -, mode=\"reflect\")", "f32[8,14]",
       "S(0), B, B, B -> S(0) | P(sum), B, B, B -> P(sum) | P(max), B, B, B -> P(max) | P(min), B, B, B -> P(min)"},
  });
}

TEST(JoinRules, Errors) {
  EXPECT_EQ(AskOp("Concat(f32[8,12], f32[8,4], axis=0)").status().message(),
            "Concat(): operands 0 f32[8,12] and 1 f32[8,4] differ in another dimension than 0");
}

}  // namespace
}  // namespace sbp
