// Quantised tensors, products of small integers, fused products, experts.
#include <gtest/gtest.h>

#include "unit/rule/builtin_case.h"

namespace sbp {
namespace {

TEST(QuantizationRules, Linear) {
  ExpectAll({
      {"QuantizeLinear",
       {"f32[4,6]", "f32[] = 0.5", "i8[]"},
       "",
       1,
       "i8[4,6] | S(0), B, B -> S(0); S(1), B, B -> S(1); P(max), B, B -> P(max); P(min), B, B -> P(min)"},
      {"QuantizeLinear",
       {"f32[4,6]", "f32[6]", "-"},
       "output_dtype=3",
       1,
       "i8[4,6] | S(0), B, B -> S(0); S(1), S(0), B -> S(1)"},
      {"DequantizeLinear",
       {"i4[4,8]", "f16[4,2]"},
       "axis=1 block_size=4",
       1,
       "f16[4,8] | S(0), S(0) -> S(0); S(1), S(1) -> S(1); B, P(sum) -> P(sum)"},
      {"DequantizeLinear",
       {"i4[4,8]", "f16[4,3]"},
       "axis=1 block_size=3",
       1,
       "f16[4,8] | S(0), S(0) -> S(0); B, P(sum) -> P(sum)"},
      {"DequantizeLinear",
       {"i32[4,8]", "f32[8]"},
       "",
       1,
       "f32[4,8] | S(0), B -> S(0); S(1), S(0) -> S(1); B, P(sum) -> P(sum); P(sum), B -> P(sum)"},
      {"DequantizeLinear",
       {"u8[4,8]", "f32[7]"},
       "",
       1,
       "DequantizeLinear(): dimension 0 of operand 1 \"x_scale\" must be 8 (entries along the axis), but it is f32[7]"},
      {"DynamicQuantizeLinear", {"f32[4,6]"}, "", 3, "u8[4,6], f32[], u8[] | "},
  });
}

TEST(QuantizationRules, Products) {
  ExpectAll({
      {"MatMulInteger",
       {"u8[4,6]", "i8[6,8]", "u8[]", "i8[8]"},
       "",
       1,
       "i32[4,8] | S(0), B, B, B -> S(0); B, S(1), B, S(0) -> S(1); S(1), S(0), B, B -> P(sum)"},
      {"MatMulInteger",
       {"u8[2,4,6]", "i8[6]"},
       "",
       1,
       "i32[2,4] | S(0), B -> S(0); S(1), B -> S(1); S(2), S(0) -> P(sum)"},
      {"QLinearMatMul",
       {"u8[4,6]", "f32[]", "u8[]", "i8[6,8]", "f32[8]", "i8[8]", "f32[]", "u8[]"},
       "",
       1,
       "u8[4,8] | S(0), B, B, B, B, B, B, B -> S(0); B, B, B, S(1), S(0), S(0), B, B -> S(1)"},
      {"com.microsoft::MatMulIntegerToFloat",
       {"u8[4,6]", "i8[6,8]", "f32[]", "f32[8]", "u8[]", "i8[8]", "f32[8]"},
       "",
       1,
       "f32[4,8] | S(0), B, B, B, B, B, B -> S(0); B, S(1), B, S(0), B, S(0), S(0) -> S(1); S(1), S(0), B, B, B, B, "
       "P(sum) -> P(sum); B, B, P(sum), B, B, B, P(sum) -> P(sum); B, B, B, P(sum), B, B, P(sum) -> P(sum)"},
      {"com.microsoft::DynamicQuantizeMatMul",
       {"f32[4,6]", "i8[6,8]", "f32[]"},
       "",
       1,
       "f32[4,8] | B, S(1), B -> S(1)"},
      {"com.microsoft::FusedMatMul",
       {"f32[2,6,4]", "f32[2,8,6]"},
       "transA=1 transB=1",
       1,
       "f32[2,4,8] | S(0), S(0) -> S(0); S(2), B -> S(1); B, S(1) -> S(2); S(1), S(2) -> P(sum); P(sum), B -> P(sum); "
       "B, P(sum) -> P(sum)"},
      {"com.microsoft::FusedMatMul",
       {"f32[4,2,6]", "f32[2,6,8]"},
       "transBatchA=1",
       1,
       "f32[2,4,8] | S(1), S(0) -> S(0); S(0), B -> S(1); B, S(2) -> S(2); S(2), S(1) -> P(sum); P(sum), B -> P(sum); "
       "B, P(sum) -> P(sum)"},
      {"com.microsoft::QLinearAdd",
       {"u8[4,6]", "f32[]", "u8[]", "u8[6]", "f32[]", "u8[]", "f32[]", "u8[]"},
       "",
       1,
       "u8[4,6] | S(0), B, B, B, B, B, B, B -> S(0); S(1), B, B, S(0), B, B, B, B -> S(1)"},
  });
}

TEST(QuantizationRules, Blocks) {
  ExpectAll({
      {"com.microsoft::MatMulNBits",
       {"f32[2,6,128]", "u8[8,4,16]", "f32[8,4]", "u8[8,2]"},
       "K=128 N=8 bits=4 block_size=32",
       1,
       "f32[2,6,8] | S(0), B, B, B -> S(0); S(1), B, B, B -> S(1); B, S(0), S(0), S(0) -> S(2); S(2), S(1), S(1), S(1) "
       "-> P(sum); P(sum), B, B, B -> P(sum); B, B, P(sum), B -> P(sum)"},
      {"com.microsoft::MatMulNBits",
       {"f32[2,6,128]", "u8[8,4,16]", "f32[32]", "u8[16]", "-", "f32[8]"},
       "K=128 N=8 bits=4 block_size=32",
       1,
       "f32[2,6,8] | S(0), B, B, B, B, B -> S(0); S(1), B, B, B, B, B -> S(1); B, S(0), S(0), S(0), B, S(0) -> S(2); "
       "P(sum), B, B, B, B, P(sum) -> P(sum); B, B, P(sum), B, B, P(sum) -> P(sum)"},
      {"com.microsoft::MatMulNBits",
       {"f32[6,96]", "u8[8,3,16]", "f32[24]", "u8[16]"},
       "K=96 N=8 bits=4 block_size=32",
       1,
       "f32[6,8] | S(0), B, B, B -> S(0); B, S(0), S(0), S(0) -> S(1); P(sum), B, B, B -> P(sum); B, B, P(sum), B -> "
       "P(sum)"},
      {"com.microsoft::MatMulNBits",
       {"f32[6,96]", "u8[8,3,16]", "f32[24]"},
       "K=64 N=8 bits=4 block_size=32",
       1,
       "com.microsoft::MatMulNBits(): dimension 1 of operand 0 \"A\" must be 64 (attribute K), but it is f32[6,96]"},
  });
}

TEST(QuantizationRules, FusedConv) {
  ExpectAll({
      {"com.microsoft::FusedConv",
       {"f32[2,4,6,6]", "f32[8,4,1,1]", "f32[8]", "f32[2,8,6,6]"},
       "activation=Relu",
       1,
       "f32[2,8,6,6] | S(0), B, B, S(0) -> S(0); B, S(0), S(0), S(1) -> S(1); S(2), B, B, S(2) -> S(2); S(3), B, B, "
       "S(3) -> S(3)"},
      {"com.microsoft::FusedConv",
       {"f32[2,4,6,6]", "f32[8,4,1,1]", "f32[8]", "f32[2,8,6,6]"},
       "",
       1,
       "f32[2,8,6,6] | S(0), B, B, S(0) -> S(0); B, S(0), S(0), S(1) -> S(1); S(2), B, B, S(2) -> S(2); S(3), B, B, "
       "S(3) -> S(3); S(1), S(1), P(sum), P(sum) -> P(sum); P(sum), B, P(sum), P(sum) -> P(sum); B, P(sum), P(sum), "
       "P(sum) -> P(sum); B, B, P(max), B -> P(max); B, B, P(min), B -> P(min)"},
      {"com.microsoft::FusedConv",
       {"f32[2,4,6,6]", "f32[8,4,1,1]", "-", "f32[8]"},
       "",
       1,
       "com.microsoft::FusedConv(): 'Z' must be shaped like Y [2,8,6,6], but is f32[8]"},
  });
}

TEST(QuantizationRules, OperatorsOfTheQuantiser) {
  ExpectAll({
      {"com.microsoft::QGemm",
       {"u8[4,6]", "f32[]", "u8[]", "i8[8,6]", "f32[8]", "i8[8]", "i32[8]", "f32[]", "u8[]"},
       "transB=1",
       1,
       "u8[4,8] | S(0), B, B, B, B, B, B, B, B -> S(0); B, B, B, S(0), S(0), S(0), S(0), B, B -> S(1)"},
      {"com.microsoft::QGemm",
       {"u8[4,6]", "f32[]", "u8[]", "u8[6,8]", "f32[]", "u8[]", "i32[4,8]"},
       "",
       1,
       "f32[4,8] | S(0), B, B, B, B, B, S(0) -> S(0); B, B, B, S(1), B, B, S(1) -> S(1); S(1), B, B, S(0), B, B, "
       "P(sum) -> P(sum)"},
      {"com.microsoft::QGemm",
       {"u8[4,6]", "f32[]", "u8[]", "u8[6,8]", "f32[6]", "u8[]"},
       "",
       1,
       "com.microsoft::QGemm(): 'b_scale' must have one entry, or one along dimension 1 of B u8[6,8], but is f32[6]"},
      {"com.microsoft::QLinearConcat",
       {"f32[]", "u8[]", "u8[4,6]", "f32[]", "u8[]", "u8[4,2]", "f32[]", "u8[]"},
       "axis=1",
       1,
       "u8[4,8] | B, B, S(0), B, B, S(0), B, B -> S(0)"},
      {"com.microsoft::QLinearConcat",
       {"f32[]", "u8[]", "u8[4,6]", "f32[]"},
       "axis=1",
       1,
       "com.microsoft::QLinearConcat(): expected a scale and a zero point, and as many for each tensor, found 4 "
       "operands"},
      {"com.microsoft::QLinearAveragePool",
       {"u8[2,4,8,8]", "f32[]", "u8[]", "f32[]", "u8[]"},
       "kernel_shape=[2,3] strides=[2,1]",
       1,
       "u8[2,4,4,6] | S(0), B, B, B, B -> S(0); S(1), B, B, B, B -> S(1); S(2), B, B, B, B -> S(2)"},
      {"com.microsoft::QLinearGlobalAveragePool",
       {"u8[2,8,8,4]", "f32[]", "u8[]", "f32[]", "u8[]"},
       "channels_last=1",
       1,
       "u8[2,1,1,4] | S(0), B, B, B, B -> S(0); S(3), B, B, B, B -> S(3)"},
      {"com.microsoft::QLinearSoftmax",
       {"u8[4,2,6]", "f32[]", "u8[]", "f32[]", "u8[]"},
       "axis=1 opset=12",
       1,
       "u8[4,2,6] | S(0), B, B, B, B -> S(0)"},
      {"com.microsoft::QLinearSoftmax",
       {"u8[4,2,6]", "f32[]", "u8[]", "f32[]", "u8[]"},
       "axis=1 opset=13",
       1,
       "u8[4,2,6] | S(0), B, B, B, B -> S(0); S(2), B, B, B, B -> S(2)"},
  });
}

TEST(QuantizationRules, WeightsOfFewBits) {
  ExpectAll({
      {"com.microsoft::GatherBlockQuantized",
       {"u8[8,16]", "i64[2,4]", "f32[8,2]"},
       "block_size=16",
       1,
       "f32[2,4,32] | B, S(0), B -> S(0); B, S(1), B -> S(1); S(0), B, S(0) -> P(sum); B, B, P(sum) -> P(sum)"},
      {"com.microsoft::MatMulBnb4",
       {"f32[4,16]", "u8[24,1]", "f32[3]"},
       "K=16 N=3 block_size=16 quant_type=0",
       1,
       "f32[4,3] | S(0), B, B -> S(0); P(sum), B, B -> P(sum); B, B, P(sum) -> P(sum)"},
      {"com.microsoft::QAttention",
       {"u8[2,4,6]", "i8[6,24]", "f32[24]", "f32[]", "f32[]", "i32[2]", "u8[]", "i8[]"},
       "num_heads=2",
       1,
       "f32[2,4,8] | S(0), B, B, B, B, S(0), B, B -> S(0); B, B, B, B, B, B, B, B -> S(2)"},
      {"com.microsoft::QMoE",
       {"f32[6,4]", "f32[6,4]", "u8[4,6,2]", "f32[4,6]", "f32[4,6]", "u8[4,4,3]", "f32[4,4]", "f32[4,4]"},
       "k=2",
       1,
       "f32[6,4] | S(0), S(0), B, B, B, B, B, B -> S(0); B, B, S(0), S(0), S(0), S(0), S(0), S(0) -> P(sum); B, B, B, "
       "B, B, B, P(sum), P(sum) -> P(sum)"},
  });
}

// Operands that do not fit are errors; none is read beyond its end.
TEST(QuantizationRules, WhatDoesNotFit) {
  ExpectAll({
      {"com.microsoft::QMoE",
       {"f32[6,4]", "f32[6,4]", "u8[4,6,2]", "f32[]", "-", "u8[4,4,3]", "f32[4,4]", "-"},
       "k=2",
       1,
       "com.microsoft::QMoE(): operand 3 \"fc1_scales\" must have 2 dimensions, but is f32[]"},
      {"com.microsoft::QMoE",
       {"f32[6,4]", "f32[6,4]", "u8[4,6,2]", "f32[4,6]", "-", "u8[4,4,3]", "f32[4,4]", "-"},
       "k=2 expert_weight_bits=3",
       1,
       "com.microsoft::QMoE(): expert_weight_bits 3 is not 1, 2, 4 or 8"},
      {"com.microsoft::MoE",
       {"f32[6,4]", "f32[6,4]", "f32[4,6,4]", "f32[4]", "f32[4,4,6]"},
       "k=2",
       1,
       "com.microsoft::MoE(): operand 3 \"fc1_experts_bias\" must have 2 dimensions, but is f32[4]"},
      {"com.microsoft::MoE",
       {"f32[6,4]", "f32[6,4]", "f32[4,6,4]", "-", "f32[4,4,6]"},
       "k=0",
       1,
       "com.microsoft::MoE(): k is 0, but there are 4 experts"},
      {"com.microsoft::EmbedLayerNormalization",
       {"i32[4,6]", "i32[4,6]", "f32[9,5]", "f32[6,5]", "f32[2,5]", "f32[5]", "f32[5]", "i32[]"},
       "",
       2,
       "com.microsoft::EmbedLayerNormalization(): operand 7 \"mask\" must have 2 dimensions, but is i32[]"},
      {"com.microsoft::MatMulNBits",
       {"f32[3,12]", "u8[4,3,2]", "f32[12]", "u8[8]", "-", "f32[]"},
       "K=12 N=4 bits=4 block_size=4",
       1,
       "com.microsoft::MatMulNBits(): operand 5 \"bias\" must have 4 elements (one for each column), but is f32[]"},
      {"com.microsoft::MatMulNBits",
       {"f32[3,12]", "u8[4,3,2]", "f32[12]", "u8[7]"},
       "K=12 N=4 bits=4 block_size=4",
       1,
       "com.microsoft::MatMulNBits(): operand 3 \"zero_points\" must have 8 elements (each column's in whole bytes), "
       "but is u8[7]"},
      {"com.microsoft::QLinearSoftmax",
       {"u8[2,2,2,2,2,2]", "f32[]", "-", "f32[]", "u8[]"},
       "opset=12 axis=1",
       1,
       "u8[2,2,2,2,2,2] | S(0), B, B, B, B -> S(0)"},
      {"com.microsoft::FusedGemm",
       {"f32[4,6]", "f32[6,8]"},
       "",
       1,
       "f32[4,8] | S(0), B -> S(0); B, S(1) -> S(1); S(1), S(0) -> P(sum); P(sum), B -> P(sum); B, P(sum) -> P(sum)"},
  });
}

TEST(QuantizationRules, Experts) {
  ExpectAll({
      {"com.microsoft::MoE",
       {"f32[2,6,8]", "f32[12,4]", "f32[4,16,8]", "f32[4,16]", "f32[4,8,16]", "f32[4,8]"},
       "k=2",
       1,
       "f32[2,6,8] | S(0), S(0), B, B, B, B -> S(0); B, B, S(0), S(0), S(0), S(0) -> P(sum); B, B, S(1), S(1), S(2), "
       "P(sum) -> P(sum); B, B, B, B, P(sum), P(sum) -> P(sum)"},
  });
}

TEST(QuantizationRules, Updates) {
  ExpectAll({
      {"ai.onnx.preview.training::Momentum",
       {"f32[]", "i64[]", "f32[4,6]", "f32[4,6]", "f32[4,6]"},
       "alpha=0.9 beta=0.9 mode=standard norm_coefficient=0.1",
       2,
       "f32[4,6], f32[4,6] | B, B, S(0), S(0), S(0) -> S(0), S(0); B, B, S(1), S(1), S(1) -> S(1), S(1)"},
      {"ai.onnx.preview.training::Adam",
       {"f32[]", "i64[]", "f32[4]", "f32[2]", "f32[4]", "f32[2]", "f32[4]", "f32[2]", "f32[4]", "f32[2]"},
       "",
       6,
       "f32[4], f32[2], f32[4], f32[2], f32[4], f32[2] | B, B, S(0), B, S(0), B, S(0), B, S(0), B -> S(0), B, S(0), B, "
       "S(0), B; B, B, B, S(0), B, S(0), B, S(0), B, S(0) -> B, S(0), B, S(0), B, S(0)"},
      {"ai.onnx.preview.training::Adagrad",
       {"f32[]", "i64[]", "f32[4]", "f32[4]"},
       "",
       2,
       "ai.onnx.preview.training::Adagrad(): 2 tensors are not 3 lists of equal length"},
  });
}

}  // namespace
}  // namespace sbp
