// The CPU kernels, for the table of all kernels. Each follows the newest ONNX operator of its name.
#pragma once

#include "base/status.h"
#include "kernel/kernel.h"

namespace sbp::cpu {

// unary.cc
Status Abs(KernelCall& call);
Status Acos(KernelCall& call);
Status Acosh(KernelCall& call);
Status Asin(KernelCall& call);
Status Asinh(KernelCall& call);
Status Atan(KernelCall& call);
Status Atanh(KernelCall& call);
Status Ceil(KernelCall& call);
Status Cos(KernelCall& call);
Status Cosh(KernelCall& call);
Status Erf(KernelCall& call);
Status Exp(KernelCall& call);
Status Floor(KernelCall& call);
Status IsInf(KernelCall& call);
Status IsNan(KernelCall& call);
Status Log(KernelCall& call);
Status Neg(KernelCall& call);
Status Reciprocal(KernelCall& call);
Status Round(KernelCall& call);
Status Sigmoid(KernelCall& call);
Status Sign(KernelCall& call);
Status Sin(KernelCall& call);
Status Sinh(KernelCall& call);
Status Sqrt(KernelCall& call);
Status Tan(KernelCall& call);
Status Tanh(KernelCall& call);

// binary.cc: arithmetic; integers wrap around, and dividing them by 0 is an error.
Status Add(KernelCall& call);
Status Div(KernelCall& call);
Status Max(KernelCall& call);
Status Min(KernelCall& call);
Status Mod(KernelCall& call);
Status Mul(KernelCall& call);
Status Pow(KernelCall& call);
Status Sub(KernelCall& call);

// compare.cc: comparisons, logic and bits
Status And(KernelCall& call);
Status BitShift(KernelCall& call);
Status BitwiseAnd(KernelCall& call);
Status BitwiseNot(KernelCall& call);
Status BitwiseOr(KernelCall& call);
Status BitwiseXor(KernelCall& call);
Status Equal(KernelCall& call);
Status Greater(KernelCall& call);
Status GreaterOrEqual(KernelCall& call);
Status Less(KernelCall& call);
Status LessOrEqual(KernelCall& call);
Status Not(KernelCall& call);
Status Or(KernelCall& call);
Status Xor(KernelCall& call);

// cast.cc
Status BitCast(KernelCall& call);
Status Cast(KernelCall& call);

// movement.cc, pad.cc: every type; elements of the whole that the part of the operand does not hold are 0
Status Concat(KernelCall& call);
Status ConstantOfShape(KernelCall& call);
Status Expand(KernelCall& call);
Status Pad(KernelCall& call);
Status Reshape(KernelCall& call);
Status Slice(KernelCall& call);
Status Transpose(KernelCall& call);
Status Where(KernelCall& call);

// gather.cc, scatter.cc: indices count in the whole; those of other parts give 0, or are left out
Status Gather(KernelCall& call);
Status GatherElements(KernelCall& call);
Status GatherNd(KernelCall& call);
Status ScatterElements(KernelCall& call);
Status ScatterNd(KernelCall& call);

// reduce.cc, arg_reduce.cc, cumulative.cc
Status ArgMax(KernelCall& call);
Status ArgMin(KernelCall& call);
Status CumProd(KernelCall& call);
Status CumSum(KernelCall& call);
Status ReduceMax(KernelCall& call);
Status ReduceMin(KernelCall& call);
Status ReduceProd(KernelCall& call);
Status ReduceSum(KernelCall& call);

// matmul.cc, matmul_nbits.cc, einsum.cc
Status Einsum(KernelCall& call);
Status MatMul(KernelCall& call);
Status MatMulNBits(KernelCall& call);
Status GroupedMatMul(KernelCall& call);

// attention.cc, attention_grad.cc
Status FlashAttention(KernelCall& call);
Status FlashAttentionGrad(KernelCall& call);

// conv.cc, conv_transpose.cc, pool.cc
Status AveragePool(KernelCall& call);
Status LpPool(KernelCall& call);
Status Conv(KernelCall& call);
Status ConvInteger(KernelCall& call);
Status ConvTranspose(KernelCall& call);

// resize.cc
Status Resize(KernelCall& call);
Status MaxPool(KernelCall& call);

// sort.cc, unique.cc, non_max_suppression.cc
Status NonMaxSuppression(KernelCall& call);
Status NonZero(KernelCall& call);
Status TopK(KernelCall& call);
Status Unique(KernelCall& call);

// ngrams.cc
Status TfIdfVectorizer(KernelCall& call);

// random.cc, source.cc
Status RandomNormal(KernelCall& call);
Status RandomUniform(KernelCall& call);
Status Iota(KernelCall& call);  // Range

}  // namespace sbp::cpu
