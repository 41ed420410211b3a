// Elementwise ops: dimensions split, and what passes partial values.
#include <gtest/gtest.h>

#include "unit/rule/builtin_case.h"

namespace sbp {
namespace {

TEST(ElementwiseRules, Unary) {
  ExpectAll({
      {"Abs", {"f32[4,6]"}, "", 1, "f32[4,6] | S(0) -> S(0); S(1) -> S(1)"},
      {"Neg", {"f32[4]"}, "", 1, "f32[4] | S(0) -> S(0); P(sum) -> P(sum); P(max) -> P(min); P(min) -> P(max)"},
      {"Exp", {"f32[4]"}, "", 1, "f32[4] | S(0) -> S(0); P(max) -> P(max); P(min) -> P(min); P(sum) -> P(prod)"},
      {"Sqrt", {"f32[4]"}, "", 1, "f32[4] | S(0) -> S(0); P(max) -> P(max); P(min) -> P(min)"},
      {"Acos", {"f32[4]"}, "", 1, "f32[4] | S(0) -> S(0); P(max) -> P(min); P(min) -> P(max)"},
      {"Sin", {"f32[4]"}, "", 1, "f32[4] | S(0) -> S(0)"},
      {"Round", {"f32[1,4]"}, "", 1, "f32[1,4] | S(1) -> S(1); P(max) -> P(max); P(min) -> P(min)"},
      {"Sign", {"i32[3,1]"}, "", 1, "i32[3,1] | S(0) -> S(0); P(max) -> P(max); P(min) -> P(min)"},
      {"Relu", {"f32[]"}, "", 1, "f32[] | P(max) -> P(max); P(min) -> P(min)"},
      {"IsNaN", {"f32[4]"}, "", 1, "bool[4] | S(0) -> S(0)"},
      {"Not", {"bool[4]"}, "", 1, "bool[4] | S(0) -> S(0); P(max) -> P(min); P(min) -> P(max)"},
      {"BitwiseNot", {"u8[4]"}, "", 1, "u8[4] | S(0) -> S(0); P(max) -> P(min); P(min) -> P(max)"},
      {"Relu", {"string[4]"}, "", 1, "Relu(): argument 'x' must be numeric tensor, not string tensor"},
  });
}

TEST(ElementwiseRules, Activations) {
  ExpectAll({
      {"LeakyRelu", {"f32[4]"}, "", 1, "f32[4] | S(0) -> S(0); P(max) -> P(max); P(min) -> P(min)"},
      {"LeakyRelu", {"f32[4]"}, "alpha=-0.5", 1, "f32[4] | S(0) -> S(0)"},
      {"Elu", {"f32[4]"}, "alpha=-1", 1, "f32[4] | S(0) -> S(0)"},
      {"Celu", {"f32[4]"}, "alpha=-1", 1, "f32[4] | S(0) -> S(0); P(max) -> P(max); P(min) -> P(min)"},
      {"HardSigmoid", {"f32[4]"}, "alpha=-0.5", 1, "f32[4] | S(0) -> S(0); P(max) -> P(min); P(min) -> P(max)"},
      {"ThresholdedRelu", {"f32[4]"}, "alpha=-1", 1, "f32[4] | S(0) -> S(0)"},
      {"Shrink", {"f32[4]"}, "bias=0.5", 1, "f32[4] | S(0) -> S(0); P(max) -> P(max); P(min) -> P(min)"},
      {"Shrink", {"f32[4]"}, "bias=0.75", 1, "f32[4] | S(0) -> S(0)"},
      {"Gelu", {"f32[2,4]"}, "approximate=tanh", 1, "f32[2,4] | S(0) -> S(0); S(1) -> S(1)"},
      {"Identity", {"f8e4m3fn[4]"}, "", 1, "f8e4m3fn[4] | S(0) -> S(0)"},  // no partial values: nothing adds them
      {"CastLike", {"f32[4]", "i4[4]"}, "", 1, "i4[4] | S(0), B -> S(0)"},
      {"Swish", {"bf16[4]"}, "", 1, "bf16[4] | S(0) -> S(0)"},
      {"sbp::GeluGrad", {"bf16[4]", "bf16[4]"}, "", 1, "bf16[4] | S(0), S(0) -> S(0); P(sum), B -> P(sum)"},
      {"sbp::SwishGrad", {"bf16[4]", "bf16[4]"}, "", 1, "bf16[4] | S(0), S(0) -> S(0); P(sum), B -> P(sum)"},
      {"PRelu",
       {"f32[2,4,6]", "f32[4,1]"},
       "",
       1,
       "f32[2,4,6] | S(0), B -> S(0); S(1), S(0) -> S(1); S(2), B -> S(2); B, P(max) -> P(min); B, P(min) -> P(max)"},
  });
}

TEST(ElementwiseRules, Binary) {
  ExpectAll({
      {"Add",
       {"f32[4,6]", "f32[6]"},
       "",
       1,
       "f32[4,6] | S(0), B -> S(0); S(1), S(0) -> S(1); P(sum), P(sum) -> P(sum); P(max), B -> P(max); P(min), B -> "
       "P(min); B, P(max) -> P(max); B, P(min) -> P(min)"},
      {"Sub",
       {"f32[4]", "f32[4]"},
       "",
       1,
       "f32[4] | S(0), S(0) -> S(0); P(sum), P(sum) -> P(sum); P(max), B -> P(max); P(min), B -> P(min); B, P(max) -> "
       "P(min); B, P(min) -> P(max)"},
      {"Mul", {"f32[4]", "f32[4]"}, "", 1, "f32[4] | S(0), S(0) -> S(0); P(sum), B -> P(sum); B, P(sum) -> P(sum)"},
      {"Mul",
       {"f32[4]", "f32[] = -2"},
       "",
       1,
       "f32[4] | S(0), B -> S(0); P(sum), B -> P(sum); B, P(sum) -> P(sum); P(max), B -> P(min); P(min), B -> P(max)"},
      {"Mul",
       {"f32[] = 3", "f32[4]"},
       "",
       1,
       "f32[4] | B, S(0) -> S(0); P(sum), B -> P(sum); B, P(sum) -> P(sum); B, P(max) -> P(max); B, P(min) -> P(min)"},
      {"Div", {"f32[4]", "f32[4]"}, "", 1, "f32[4] | S(0), S(0) -> S(0); P(sum), B -> P(sum)"},
      {"Div", {"i64[4]", "i64[] = 2"}, "", 1, "i64[4] | S(0), B -> S(0); P(max), B -> P(max); P(min), B -> P(min)"},
      {"Mod", {"i64[4]", "i64[4]"}, "", 1, "i64[4] | S(0), S(0) -> S(0)"},
      {"Pow", {"f32[4]", "f32[] = 2"}, "", 1, "f32[4] | S(0), B -> S(0)"},
      {"Pow", {"f32[4]", "f32[] = 3"}, "", 1, "f32[4] | S(0), B -> S(0); P(max), B -> P(max); P(min), B -> P(min)"},
      {"Pow",
       {"f32[4]", "f32[] = 1"},
       "",
       1,
       "f32[4] | S(0), B -> S(0); P(sum), B -> P(sum); P(max), B -> P(max); P(min), B -> P(min)"},
      {"Pow",
       {"f32[] = 2", "f32[4]"},
       "",
       1,
       "f32[4] | B, S(0) -> S(0); B, P(max) -> P(max); B, P(min) -> P(min); B, P(sum) -> P(prod)"},
      {"Pow", {"f32[4]", "f32[4]"}, "", 1, "f32[4] | S(0), S(0) -> S(0)"},
      {"BitShift", {"u32[4]", "u32[4]"}, "direction=LEFT", 1, "u32[4] | S(0), S(0) -> S(0); P(sum), B -> P(sum)"},
      {"BitShift",
       {"u32[4]", "u32[4]"},
       "direction=RIGHT",
       1,
       "u32[4] | S(0), S(0) -> S(0); P(max), B -> P(max); P(min), B -> P(min); B, P(max) -> P(min); B, P(min) -> "
       "P(max)"},
      {"BitShift", {"u32[4]", "u32[4]"}, "", 1, "BitShift(): missing required attribute 'direction' (string)"},
      {"Add",
       {"f32[4]", "f32[3]"},
       "",
       1,
       "Add(): dimensions do not fit: 4 in 'x' (dimension 0 of f32[4]), 3 in 'y' (dimension 0 of f32[3])"},
  });
}

TEST(ElementwiseRules, Variadic) {
  ExpectAll({
      {"Sum",
       {"f32[4]", "f32[4]", "f32[1]"},
       "",
       1,
       "f32[4] | S(0), S(0), B -> S(0); P(sum), P(sum), P(sum) -> P(sum); P(max), B, B -> P(max); P(min), B, B -> "
       "P(min); B, P(max), B -> P(max); B, P(min), B -> P(min); B, B, P(max) -> P(max); B, B, P(min) -> P(min)"},
      {"Mean",
       {"f32[4]", "f32[4]"},
       "",
       1,
       "f32[4] | S(0), S(0) -> S(0); P(sum), P(sum) -> P(sum); P(max), B -> P(max); P(min), B -> P(min); B, P(max) -> "
       "P(max); B, P(min) -> P(min)"},
      {"Max",
       {"f32[4]", "f32[4]"},
       "",
       1,
       "f32[4] | S(0), S(0) -> S(0); P(max), B -> P(max); P(min), B -> P(min); B, P(max) -> P(max); B, P(min) -> "
       "P(min); P(max), P(max) -> P(max)"},
      {"Min", {"f32[4]"}, "", 1, "f32[4] | S(0) -> S(0); P(max) -> P(max); P(min) -> P(min)"},
      {"Clip",
       {"f32[4]", "-", "f32[]"},
       "",
       1,
       "f32[4] | S(0), B, B -> S(0); P(max), B, B -> P(max); P(min), B, B -> P(min); B, B, P(max) -> P(max); B, B, "
       "P(min) -> P(min); P(min), B, P(min) -> P(min)"},
      {"Clip",
       {"f32[4]", "f32[]", "f32[]"},
       "",
       1,
       "f32[4] | S(0), B, B -> S(0); P(max), B, B -> P(max); P(min), B, B -> P(min); B, P(max), B -> P(max); B, "
       "P(min), B -> P(min); B, B, P(max) -> P(max); B, B, P(min) -> P(min); P(max), P(max), B -> P(max); P(min), B, "
       "P(min) -> P(min); B, P(min), P(min) -> P(min)"},
  });
}

TEST(ElementwiseRules, Logic) {
  ExpectAll({
      {"Greater",
       {"f32[4]", "f32[4]"},
       "",
       1,
       "bool[4] | S(0), S(0) -> S(0); P(max), B -> P(max); P(min), B -> P(min); B, P(max) -> P(min); B, P(min) -> "
       "P(max)"},
      {"Less",
       {"f32[4]", "f32[4]"},
       "",
       1,
       "bool[4] | S(0), S(0) -> S(0); B, P(max) -> P(max); B, P(min) -> P(min); P(max), B -> P(min); P(min), B -> "
       "P(max)"},
      {"LessOrEqual",
       {"i64[4]", "i64[]"},
       "",
       1,
       "bool[4] | S(0), B -> S(0); B, P(max) -> P(max); B, P(min) -> P(min); P(max), B -> P(min); P(min), B -> P(max)"},
      {"Equal", {"f32[2,1]", "f32[4]"}, "", 1, "bool[2,4] | S(0), B -> S(0); B, S(0) -> S(1)"},
      {"And",
       {"bool[4]", "bool[4]"},
       "",
       1,
       "bool[4] | S(0), S(0) -> S(0); P(max), B -> P(max); P(min), B -> P(min); B, P(max) -> P(max); B, P(min) -> "
       "P(min); P(min), P(min) -> P(min)"},
      {"Or",
       {"bool[4]", "bool[4]"},
       "",
       1,
       "bool[4] | S(0), S(0) -> S(0); P(max), B -> P(max); P(min), B -> P(min); B, P(max) -> P(max); B, P(min) -> "
       "P(min); P(max), P(max) -> P(max)"},
      {"Xor", {"bool[4]", "bool[4]"}, "", 1, "bool[4] | S(0), S(0) -> S(0)"},
      {"BitwiseAnd", {"i32[4]", "i32[4]"}, "", 1, "i32[4] | S(0), S(0) -> S(0)"},
  });
}

}  // namespace
}  // namespace sbp
