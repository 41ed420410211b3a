#include "kernel/gpu/all_gpu_kernels.h"

#include "kernel/gpu/kernels.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

using enum DType;
using enum KernelDevice;

constexpr TypeSet kFloats{kF32, kF64, kF16, kBF16};
constexpr TypeSet kIntegers{kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64};
constexpr TypeSet kSmallIntegers{kI8, kI16, kI32, kU8, kU16, kU32};
constexpr TypeSet kComplex{kC64, kC128};
constexpr TypeSet kLogical{kBool};
constexpr TypeSet kNumbers = kFloats | kIntegers;
constexpr TypeSet kStorage{kF8E4M3FN, kF8E4M3FNUZ, kF8E5M2, kF8E5M2FNUZ, kF8E8M0, kF4E2M1, kI4, kU4, kI2, kU2};
constexpr TypeSet kAll = kNumbers | kComplex | kLogical | kStorage;  // but strings

constexpr KernelRow kRows[] = {
    {"Abs", kNumbers, kCuda, Abs},
    {"Acos", kFloats, kCuda, Acos},
    {"Acosh", kFloats, kCuda, Acosh},
    {"Add", kNumbers | kComplex, kCuda, Add},
    {"And", kLogical, kCuda, And},
    {"ArgMax", kNumbers, kCuda, ArgMax},
    {"ArgMin", kNumbers, kCuda, ArgMin},
    {"Asin", kFloats, kCuda, Asin},
    {"Asinh", kFloats, kCuda, Asinh},
    {"Atan", kFloats, kCuda, Atan},
    {"Atanh", kFloats, kCuda, Atanh},
    {"AveragePool", kFloats, kCuda, AveragePool},
    {"BitCast", kAll, kCuda, BitCast},
    {"BitShift", kIntegers, kCuda, BitShift},
    {"BitwiseAnd", kIntegers, kCuda, BitwiseAnd},
    {"BitwiseNot", kIntegers, kCuda, BitwiseNot},
    {"BitwiseOr", kIntegers, kCuda, BitwiseOr},
    {"BitwiseXor", kIntegers, kCuda, BitwiseXor},
    {"Cast", kAll, kCuda, Cast},
    {"Ceil", kFloats, kCuda, Ceil},
    {"Concat", kAll, kCuda, Concat},
    {"ConstantOfShape", kAll, kCuda, ConstantOfShape},
    {"Conv", kNumbers, kCuda, Conv},
    {"ConvInteger", kSmallIntegers, kCuda, ConvInteger},
    {"ConvTranspose", kFloats, kCuda, ConvTranspose},
    {"Cos", kFloats, kCuda, Cos},
    {"Cosh", kFloats, kCuda, Cosh},
    {"CumProd", kNumbers, kCuda, CumProd},
    {"CumSum", kNumbers, kCuda, CumSum},
    {"Div", kNumbers | kComplex, kCuda, Div},
    {"Einsum", kNumbers | kComplex, kCuda, Einsum},
    {"Equal", kNumbers | kComplex | kLogical, kCuda, Equal},
    {"Erf", kFloats, kCuda, Erf},
    {"Exp", kFloats | kComplex, kCuda, Exp},
    {"Expand", kAll, kCuda, Expand},
    {"Floor", kFloats, kCuda, Floor},
    {"Gather", kAll, kCuda, Gather},
    {"GatherElements", kAll, kCuda, GatherElements},
    {"GatherND", kAll, kCuda, GatherNd},
    {"Greater", kNumbers, kCuda, Greater},
    {"GreaterOrEqual", kNumbers, kCuda, GreaterOrEqual},
    {"IsInf", kFloats, kCuda, IsInf},
    {"IsNaN", kFloats, kCuda, IsNan},
    {"Less", kNumbers, kCuda, Less},
    {"LessOrEqual", kNumbers, kCuda, LessOrEqual},
    {"Log", kFloats, kCuda, Log},
    {"LpPool", kFloats, kCuda, LpPool},
    {"MatMul", kNumbers | kComplex, kCuda, MatMul},
    {"Max", kNumbers, kCuda, Max},
    {"MaxPool", kNumbers, kCuda, MaxPool},
    {"Min", kNumbers, kCuda, Min},
    {"Mod", kNumbers, kCuda, Mod},
    {"Mul", kNumbers | kComplex, kCuda, Mul},
    {"Neg", kNumbers | kComplex, kCuda, Neg},
    {"Not", kLogical, kCuda, Not},
    {"Or", kLogical, kCuda, Or},
    {"Pad", kAll, kCuda, Pad},
    {"Pow", kNumbers, kCuda, Pow},
    {"RandomNormal", kFloats, kCuda, RandomNormal},
    {"RandomUniform", kFloats, kCuda, RandomUniform},
    {"Range", kNumbers, kCuda, Iota},
    {"Reciprocal", kFloats | kComplex, kCuda, Reciprocal},
    {"ReduceMax", kNumbers | kLogical, kCuda, ReduceMax},
    {"ReduceMin", kNumbers | kLogical, kCuda, ReduceMin},
    {"ReduceProd", kNumbers | kComplex, kCuda, ReduceProd},
    {"ReduceSum", kNumbers | kComplex, kCuda, ReduceSum},
    {"Reshape", kAll, kCuda, Reshape},
    {"Resize", kFloats | kSmallIntegers, kCuda, Resize},
    {"Round", kFloats, kCuda, Round},
    {"ScatterElements", kAll, kCuda, ScatterElements},
    {"ScatterND", kAll, kCuda, ScatterNd},
    {"Sigmoid", kFloats, kCuda, Sigmoid},
    {"Sign", kNumbers, kCuda, Sign},
    {"Sin", kFloats, kCuda, Sin},
    {"Sinh", kFloats, kCuda, Sinh},
    {"Slice", kAll, kCuda, Slice},
    {"Sqrt", kFloats, kCuda, Sqrt},
    {"Sub", kNumbers | kComplex, kCuda, Sub},
    {"Tan", kFloats, kCuda, Tan},
    {"Tanh", kFloats, kCuda, Tanh},
    {"TopK", kNumbers, kCuda, TopK},
    {"Transpose", kAll, kCuda, Transpose},
    {"Where", kLogical, kCuda, Where},
    {"Xor", kLogical, kCuda, Xor},
    {"com.microsoft::MatMulNBits", kFloats, kCuda, MatMulNBits},
};

}  // namespace

std::span<const KernelRow> KernelRows() { return kRows; }

}  // namespace sbp::SBP_GPU_BUILD
