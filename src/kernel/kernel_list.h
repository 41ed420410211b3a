// Every kernel, once: the tables of the CPU's and of the GPUs' kernels and the declarations of the latter are made from
// this list, so that an op takes the same element types on all.
#pragma once

#include "base/dtype.h"
#include "kernel/kernel.h"

namespace sbp::kernel_types {

using enum DType;

inline constexpr TypeSet kFloats{kF32, kF64, kF16, kBF16};
inline constexpr TypeSet kHalves{kF16, kBF16};
inline constexpr TypeSet kIntegers{kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64};
inline constexpr TypeSet kSmallIntegers{kI8, kI16, kI32, kU8, kU16, kU32};
inline constexpr TypeSet kIndices{kI32, kI64};
inline constexpr TypeSet kComplex{kC64, kC128};
inline constexpr TypeSet kLogical{kBool};
inline constexpr TypeSet kNumbers = kFloats | kIntegers;
inline constexpr TypeSet kStorage{kF8E4M3FN, kF8E4M3FNUZ, kF8E5M2, kF8E5M2FNUZ, kF8E8M0, kF4E2M1, kI4, kU4, kI2, kU2};
inline constexpr TypeSet kAll = kNumbers | kComplex | kLogical | kStorage;  // but strings

}  // namespace sbp::kernel_types

// X(op, types, function) of a kernel that the CPU and GPUs have, HOST(op, types, function) of one that only the CPU has
// (kernel/cpu/kernels.h says what each computes), FUSED(op, types, function) of one that GPUs' libraries may have for
// an op that is expanded otherwise (KernelRow::may_decline). Sorted by op, as AllKernels() is.
// clang-format off
#define SBP_KERNELS(X, HOST, FUSED)                                                                                    \
  X("Abs", kNumbers, Abs)                                                                                              \
  X("Acos", kFloats, Acos)                                                                                             \
  X("Acosh", kFloats, Acosh)                                                                                           \
  X("Add", kNumbers | kComplex, Add)                                                                                   \
  X("And", kLogical, And)                                                                                              \
  X("ArgMax", kNumbers, ArgMax)                                                                                        \
  X("ArgMin", kNumbers, ArgMin)                                                                                        \
  X("Asin", kFloats, Asin)                                                                                             \
  X("Asinh", kFloats, Asinh)                                                                                           \
  X("Atan", kFloats, Atan)                                                                                             \
  X("Atanh", kFloats, Atanh)                                                                                           \
  FUSED("Attention", kHalves, Attention)                                                                               \
  X("AveragePool", kFloats, AveragePool)                                                                               \
  X("BitCast", kAll, BitCast)                                                                                          \
  X("BitShift", kIntegers, BitShift)                                                                                   \
  X("BitwiseAnd", kIntegers, BitwiseAnd)                                                                               \
  X("BitwiseNot", kIntegers, BitwiseNot)                                                                               \
  X("BitwiseOr", kIntegers, BitwiseOr)                                                                                 \
  X("BitwiseXor", kIntegers, BitwiseXor)                                                                               \
  X("Cast", kAll, Cast)                                                                                                \
  X("Ceil", kFloats, Ceil)                                                                                             \
  X("Concat", kAll, Concat)                                                                                            \
  X("ConstantOfShape", kAll, ConstantOfShape)                                                                          \
  X("Conv", kNumbers, Conv)                                                                                            \
  X("ConvInteger", kSmallIntegers, ConvInteger)                                                                        \
  X("ConvTranspose", kFloats, ConvTranspose)                                                                           \
  X("Cos", kFloats, Cos)                                                                                               \
  X("Cosh", kFloats, Cosh)                                                                                             \
  X("CumProd", kNumbers, CumProd)                                                                                      \
  X("CumSum", kNumbers, CumSum)                                                                                        \
  X("Div", kNumbers | kComplex, Div)                                                                                   \
  X("Einsum", kNumbers | kComplex, Einsum)                                                                             \
  X("Equal", kNumbers | kComplex | kLogical, Equal)                                                                    \
  X("Erf", kFloats, Erf)                                                                                               \
  X("Exp", kFloats | kComplex, Exp)                                                                                    \
  X("Expand", kAll, Expand)                                                                                            \
  X("Floor", kFloats, Floor)                                                                                           \
  X("Gather", kAll, Gather)                                                                                            \
  X("GatherElements", kAll, GatherElements)                                                                            \
  X("GatherND", kAll, GatherNd)                                                                                        \
  X("Greater", kNumbers, Greater)                                                                                      \
  X("GreaterOrEqual", kNumbers, GreaterOrEqual)                                                                        \
  X("IsInf", kFloats, IsInf)                                                                                           \
  X("IsNaN", kFloats, IsNan)                                                                                           \
  X("Less", kNumbers, Less)                                                                                            \
  X("LessOrEqual", kNumbers, LessOrEqual)                                                                              \
  X("Log", kFloats, Log)                                                                                               \
  X("LpPool", kFloats, LpPool)                                                                                         \
  X("MatMul", kNumbers | kComplex, MatMul)                                                                             \
  X("Max", kNumbers, Max)                                                                                              \
  X("MaxPool", kNumbers, MaxPool)                                                                                      \
  X("Min", kNumbers, Min)                                                                                              \
  X("Mod", kNumbers, Mod)                                                                                              \
  X("Mul", kNumbers | kComplex, Mul)                                                                                   \
  X("Neg", kNumbers | kComplex, Neg)                                                                                   \
  HOST("NonMaxSuppression", kFloats, NonMaxSuppression)                                                                \
  HOST("NonZero", kNumbers | kLogical, NonZero)                                                                        \
  X("Not", kLogical, Not)                                                                                              \
  X("Or", kLogical, Or)                                                                                                \
  X("Pad", kAll, Pad)                                                                                                  \
  X("Pow", kNumbers, Pow)                                                                                              \
  X("RandomNormal", kFloats, RandomNormal)                                                                             \
  X("RandomUniform", kFloats, RandomUniform)                                                                           \
  X("Range", kNumbers, Iota)                                                                                           \
  X("Reciprocal", kFloats | kComplex, Reciprocal)                                                                      \
  X("ReduceMax", kNumbers | kLogical, ReduceMax)                                                                       \
  X("ReduceMin", kNumbers | kLogical, ReduceMin)                                                                       \
  X("ReduceProd", kNumbers | kComplex, ReduceProd)                                                                     \
  X("ReduceSum", kNumbers | kComplex, ReduceSum)                                                                       \
  X("Reshape", kAll, Reshape)                                                                                          \
  X("Resize", kFloats | kSmallIntegers, Resize)                                                                        \
  X("Round", kFloats, Round)                                                                                           \
  X("ScatterElements", kAll, ScatterElements)                                                                          \
  X("ScatterND", kAll, ScatterNd)                                                                                      \
  X("Sigmoid", kFloats, Sigmoid)                                                                                       \
  X("Sign", kNumbers, Sign)                                                                                            \
  X("Sin", kFloats, Sin)                                                                                               \
  X("Sinh", kFloats, Sinh)                                                                                             \
  X("Slice", kAll, Slice)                                                                                              \
  X("Sqrt", kFloats, Sqrt)                                                                                             \
  X("Sub", kNumbers | kComplex, Sub)                                                                                   \
  X("Tan", kFloats, Tan)                                                                                               \
  X("Tanh", kFloats, Tanh)                                                                                             \
  HOST("TfIdfVectorizer", kIndices, TfIdfVectorizer)                                                                     \
  X("TopK", kNumbers, TopK)                                                                                            \
  X("Transpose", kAll, Transpose)                                                                                      \
  HOST("Unique", kNumbers | kLogical, Unique)                                                                          \
  X("Where", kLogical, Where)                                                                                          \
  X("Xor", kLogical, Xor)                                                                                              \
  X("com.microsoft::MatMulNBits", kFloats, MatMulNBits)                                                                \
  HOST("sbp::FlashAttention", kFloats, FlashAttention)                                                                 \
  HOST("sbp::FlashAttentionGrad", kFloats, FlashAttentionGrad)                                                         \
  HOST("sbp::GroupedMatMul", kFloats, GroupedMatMul)
// clang-format on
