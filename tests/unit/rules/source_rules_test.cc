// rules/source.rules: shapes and candidates of each op on one mesh axis of two ranks.
#include <gtest/gtest.h>

#include "unit/rules/op_call.h"

namespace sbp {
namespace {

TEST(SourceRules, Shape) {
  ExpectRows({
      {"Shape(f32[8,12], start=1)", "i64[1]",
       "S(0) -> B | S(1) -> B | P(sum) -> B | P(max) -> B | P(min) -> B | P(prod) -> B"},
  });
}

TEST(SourceRules, Size) {
  ExpectRows({
      {"Size(f32[8,12])", "i64[]", "S(0) -> B | S(1) -> B | P(sum) -> B | P(max) -> B | P(min) -> B | P(prod) -> B"},
  });
}

TEST(SourceRules, Constant) {
  ExpectRows({
      {"Constant(value_ints=[1,2,3])", "i64[3]", ""},
  });
}

TEST(SourceRules, ConstantOfShape) {
  ExpectRows({
      {"ConstantOfShape(i64[2]{4,8})", "f32[4,8]", "B -> S(0) | B -> S(1)"},
  });
}

TEST(SourceRules, Range) {
  ExpectRows({
      {"Range(i64[]{0}, i64[]{10}, i64[]{3})", "i64[4]", "B, B, B -> S(0)"},
      {"Range(f32[]{0}, f32[]{1}, f32[]{0.25})", "f32[4]", "B, B, B -> S(0)"},
  });
}

TEST(SourceRules, EyeLike) {
  ExpectRows({
      {"EyeLike(f32[4,8])", "f32[4,8]",
       "S(0) -> S(0) | S(1) -> S(1) | P(sum) -> B | P(max) -> B | P(min) -> B | P(prod) -> B"},
  });
}

TEST(SourceRules, RandomNormal) {
  ExpectRows({
      {"RandomNormal(shape=[4,8])", "f32[4,8]", "-> S(0) | -> S(1)"},
  });
}

TEST(SourceRules, RandomUniformLike) {
  ExpectRows({
      {"RandomUniformLike(f32[4,8], dtype=10)", "f16[4,8]",
       "S(0) -> S(0) | S(1) -> S(1) | P(sum) -> B | P(max) -> B | P(min) -> B | P(prod) -> B"},
  });
}

TEST(SourceRules, Multinomial) {
  ExpectRows({
      {"Multinomial(f32[4,10], sample_size=6)", "i32[4,6]", "S(0) -> S(0) | B -> S(1)"},
  });
}

TEST(SourceRules, HannWindow) {
  ExpectRows({
      {"HannWindow(i64[]{16})", "f32[16]", "B -> S(0)"},
  });
}

TEST(SourceRules, MelWeightMatrix) {
  ExpectRows({
      {"MelWeightMatrix(i64[]{8}, i64[]{16}, i64[]{8192}, f32[]{0}, f32[]{4000})", "f32[9,8]",
       "B, B, B, B, B -> S(0) | B, B, B, B, B -> S(1)"},
  });
}

TEST(SourceRules, Cast) {
  ExpectRows({
      {"Cast(f32[8,12], to=10)", "f16[8,12]",
       "S(0) -> S(0) | S(1) -> S(1) | P(sum) -> P(sum) | P(max) -> P(max) | P(min) -> P(min)"},
      {"Cast(f32[8,12], to=7)", "i64[8,12]", "S(0) -> S(0) | S(1) -> S(1) | P(max) -> P(max) | P(min) -> P(min)"},
      {"Cast(bool[8,12], to=1)", "f32[8,12]", "S(0) -> S(0) | S(1) -> S(1) | P(max) -> P(max) | P(min) -> P(min)"},
      {"Cast(i64[8], to=6)", "i32[8]", "S(0) -> S(0) | P(sum) -> P(sum)"},
      {"Cast(f32[8], to=9)", "bool[8]", "S(0) -> S(0)"},
  });
}

TEST(SourceRules, CastLike) {
  ExpectRows({
      {"CastLike(i64[8], f16[3])", "f16[8]",
       "S(0), B -> S(0) | P(sum), B -> P(sum) | P(max), B -> P(max) | P(min), B -> P(min) | B, P(sum) -> B | S(0), "
       "P(sum) -> S(0) | P(sum), P(sum) -> P(sum) | P(max), P(sum) -> P(max) | P(min), P(sum) -> P(min) | B, P(max) -> "
       "B | S(0), P(max) -> S(0) | P(sum), P(max) -> P(sum) | P(max), P(max) -> P(max) | P(min), P(max) -> P(min) | B, "
       "P(min) -> B | S(0), P(min) -> S(0) | P(sum), P(min) -> P(sum) | P(max), P(min) -> P(max) | P(min), P(min) -> "
       "P(min) | B, P(prod) -> B | S(0), P(prod) -> S(0) | P(sum), P(prod) -> P(sum) | P(max), P(prod) -> P(max) | "
       "P(min), P(prod) -> P(min)"},
  });
}

TEST(SourceRules, BitCast) {
  ExpectRows({
      {"BitCast(f32[8], to=6)", "i32[8]", "S(0) -> S(0)"},
  });
}

TEST(SourceRules, Where) {
  ExpectRows({
      {"Where(bool[8,1], f32[8,12], f32[])", "f32[8,12]",
       "S(0), S(0), B -> S(0) | B, S(1), B -> S(1) | B, P(sum), P(sum) -> P(sum) | B, P(max), P(max) -> P(max) | "
       "B, P(min), P(min) -> P(min) | B, P(max), B -> P(max) | B, P(min), B -> P(min) | B, B, P(max) -> P(max) | "
       "B, B, P(min) -> P(min)"},
      // A branch of zeros adds nothing to the sum of the other.
      {"Where(bool[8], f32[]{0}, f32[8])", "f32[8]",
       "S(0), B, S(0) -> S(0) | B, P(sum), P(sum) -> P(sum) | B, B, P(sum) -> P(sum) | B, P(max), P(max) -> P(max) | "
       "B, P(min), P(min) -> P(min) | B, P(max), B -> P(max) | B, P(min), B -> P(min) | B, B, P(max) -> P(max) | "
       "B, B, P(min) -> P(min)"},
  });
}

TEST(SourceRules, Dropout) {
  ExpectRows({
      {"Dropout(f32[8,12], f32[]{0.5}, bool[]{1})", "f32[8,12], bool[8,12]",
       "S(0), B, B -> S(0), S(0) | S(1), B, B -> S(1), S(1) | P(sum), B, B -> P(sum), B | "
       "P(max), B, B -> P(max), B | P(min), B, B -> P(min), B",
       2},
  });
}

TEST(SourceRules, RandomUniform) {
  ExpectRows({
      {"RandomUniform(shape=[4])", "f32[4]", "-> S(0)"},
  });
}

TEST(SourceRules, RandomNormalLike) {
  ExpectRows({
      {"RandomNormalLike(f32[4,8])", "f32[4,8]",
       "S(0) -> S(0) | S(1) -> S(1) | P(sum) -> B | P(max) -> B | P(min) -> B | P(prod) -> B"},
  });
}

TEST(SourceRules, Bernoulli) {
  ExpectRows({
      {"Bernoulli(f32[4,8])", "f32[4,8]", "S(0) -> S(0) | S(1) -> S(1)"},
  });
}

TEST(SourceRules, HammingWindow) {
  ExpectRows({
      {"HammingWindow(i64[]{16})", "f32[16]", "B -> S(0)"},
  });
}

TEST(SourceRules, BlackmanWindow) {
  ExpectRows({
      {"BlackmanWindow(i64[]{16}, output_datatype=11)", "f64[16]", "B -> S(0)"},
  });
}

}  // namespace
}  // namespace sbp
