// The GPU kernels, for their table. Each computes what the CPU's kernel of its name does (kernel/cpu/kernels.h).
#pragma once

#include "kernel/kernel.h"

namespace sbp::SBP_GPU_BUILD {

// unary.cu
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

// binary.cu: arithmetic; integers wrap around, and dividing them by 0 is an error.
Status Add(KernelCall& call);
Status Div(KernelCall& call);
Status Max(KernelCall& call);
Status Min(KernelCall& call);
Status Mod(KernelCall& call);
Status Mul(KernelCall& call);
Status Pow(KernelCall& call);
Status Sub(KernelCall& call);

// compare.cu: comparisons, logic and bits
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

// cast.cu
Status BitCast(KernelCall& call);
Status Cast(KernelCall& call);

// movement.cu, pad.cu: every type; elements of the whole that the part of the operand does not hold are 0
Status Concat(KernelCall& call);
Status ConstantOfShape(KernelCall& call);
Status Expand(KernelCall& call);
Status Pad(KernelCall& call);
Status Reshape(KernelCall& call);
Status Slice(KernelCall& call);
Status Transpose(KernelCall& call);
Status Where(KernelCall& call);

// gather.cu, scatter.cu: indices count in the whole; those of other parts give 0, or are left out
Status Gather(KernelCall& call);
Status GatherElements(KernelCall& call);
Status GatherNd(KernelCall& call);
Status ScatterElements(KernelCall& call);
Status ScatterNd(KernelCall& call);

// reduce.cu, arg_reduce.cu, cumulative.cu
Status ArgMax(KernelCall& call);
Status ArgMin(KernelCall& call);
Status CumProd(KernelCall& call);
Status CumSum(KernelCall& call);
Status ReduceMax(KernelCall& call);
Status ReduceMin(KernelCall& call);
Status ReduceProd(KernelCall& call);
Status ReduceSum(KernelCall& call);

// matmul.cu, matmul_nbits.cu, einsum.cu
Status Einsum(KernelCall& call);
Status MatMul(KernelCall& call);
Status MatMulNBits(KernelCall& call);

// conv.cu, conv_transpose.cu, pool.cu
Status AveragePool(KernelCall& call);
Status LpPool(KernelCall& call);
Status Conv(KernelCall& call);
Status ConvInteger(KernelCall& call);
Status ConvTranspose(KernelCall& call);

// resize.cu
Status Resize(KernelCall& call);
Status MaxPool(KernelCall& call);

// sort.cu, unique.cu, non_max_suppression.cu
Status TopK(KernelCall& call);

// random.cu, source.cu
Status RandomNormal(KernelCall& call);
Status RandomUniform(KernelCall& call);
Status Iota(KernelCall& call);  // Range

}  // namespace sbp::SBP_GPU_BUILD
