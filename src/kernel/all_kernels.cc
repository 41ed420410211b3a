#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"

namespace sbp {
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
    {"Abs", kNumbers, kCpu, cpu::Abs},
    {"Acos", kFloats, kCpu, cpu::Acos},
    {"Acosh", kFloats, kCpu, cpu::Acosh},
    {"Add", kNumbers | kComplex, kCpu, cpu::Add},
    {"And", kLogical, kCpu, cpu::And},
    {"ArgMax", kNumbers, kCpu, cpu::ArgMax},
    {"ArgMin", kNumbers, kCpu, cpu::ArgMin},
    {"Asin", kFloats, kCpu, cpu::Asin},
    {"Asinh", kFloats, kCpu, cpu::Asinh},
    {"Atan", kFloats, kCpu, cpu::Atan},
    {"Atanh", kFloats, kCpu, cpu::Atanh},
    {"AveragePool", kFloats, kCpu, cpu::AveragePool},
    {"BitCast", kAll, kCpu, cpu::BitCast},
    {"BitShift", kIntegers, kCpu, cpu::BitShift},
    {"BitwiseAnd", kIntegers, kCpu, cpu::BitwiseAnd},
    {"BitwiseNot", kIntegers, kCpu, cpu::BitwiseNot},
    {"BitwiseOr", kIntegers, kCpu, cpu::BitwiseOr},
    {"BitwiseXor", kIntegers, kCpu, cpu::BitwiseXor},
    {"Cast", kAll, kCpu, cpu::Cast},
    {"Ceil", kFloats, kCpu, cpu::Ceil},
    {"Concat", kAll, kCpu, cpu::Concat},
    {"ConstantOfShape", kAll, kCpu, cpu::ConstantOfShape},
    {"Conv", kNumbers, kCpu, cpu::Conv},
    {"ConvInteger", kSmallIntegers, kCpu, cpu::ConvInteger},
    {"ConvTranspose", kFloats, kCpu, cpu::ConvTranspose},
    {"Cos", kFloats, kCpu, cpu::Cos},
    {"Cosh", kFloats, kCpu, cpu::Cosh},
    {"CumProd", kNumbers, kCpu, cpu::CumProd},
    {"CumSum", kNumbers, kCpu, cpu::CumSum},
    {"Div", kNumbers | kComplex, kCpu, cpu::Div},
    {"Einsum", kNumbers | kComplex, kCpu, cpu::Einsum},
    {"Equal", kNumbers | kComplex | kLogical, kCpu, cpu::Equal},
    {"Erf", kFloats, kCpu, cpu::Erf},
    {"Exp", kFloats | kComplex, kCpu, cpu::Exp},
    {"Expand", kAll, kCpu, cpu::Expand},
    {"Floor", kFloats, kCpu, cpu::Floor},
    {"Gather", kAll, kCpu, cpu::Gather},
    {"GatherElements", kAll, kCpu, cpu::GatherElements},
    {"GatherND", kAll, kCpu, cpu::GatherNd},
    {"Greater", kNumbers, kCpu, cpu::Greater},
    {"GreaterOrEqual", kNumbers, kCpu, cpu::GreaterOrEqual},
    {"IsInf", kFloats, kCpu, cpu::IsInf},
    {"IsNaN", kFloats, kCpu, cpu::IsNan},
    {"Less", kNumbers, kCpu, cpu::Less},
    {"LessOrEqual", kNumbers, kCpu, cpu::LessOrEqual},
    {"Log", kFloats, kCpu, cpu::Log},
    {"LpPool", kFloats, kCpu, cpu::LpPool},
    {"MatMul", kNumbers | kComplex, kCpu, cpu::MatMul},
    {"Max", kNumbers, kCpu, cpu::Max},
    {"MaxPool", kNumbers, kCpu, cpu::MaxPool},
    {"Min", kNumbers, kCpu, cpu::Min},
    {"Mod", kNumbers, kCpu, cpu::Mod},
    {"Mul", kNumbers | kComplex, kCpu, cpu::Mul},
    {"Neg", kNumbers | kComplex, kCpu, cpu::Neg},
    {"NonMaxSuppression", kFloats, kCpu, cpu::NonMaxSuppression},
    {"NonZero", kNumbers | kLogical, kCpu, cpu::NonZero},
    {"Not", kLogical, kCpu, cpu::Not},
    {"Or", kLogical, kCpu, cpu::Or},
    {"Pad", kAll, kCpu, cpu::Pad},
    {"Pow", kNumbers, kCpu, cpu::Pow},
    {"RandomNormal", kFloats, kCpu, cpu::RandomNormal},
    {"RandomUniform", kFloats, kCpu, cpu::RandomUniform},
    {"Range", kNumbers, kCpu, cpu::Iota},
    {"Reciprocal", kFloats | kComplex, kCpu, cpu::Reciprocal},
    {"ReduceMax", kNumbers | kLogical, kCpu, cpu::ReduceMax},
    {"ReduceMin", kNumbers | kLogical, kCpu, cpu::ReduceMin},
    {"ReduceProd", kNumbers | kComplex, kCpu, cpu::ReduceProd},
    {"ReduceSum", kNumbers | kComplex, kCpu, cpu::ReduceSum},
    {"Reshape", kAll, kCpu, cpu::Reshape},
    {"Resize", kFloats | kSmallIntegers, kCpu, cpu::Resize},
    {"Round", kFloats, kCpu, cpu::Round},
    {"ScatterElements", kAll, kCpu, cpu::ScatterElements},
    {"ScatterND", kAll, kCpu, cpu::ScatterNd},
    {"Sigmoid", kFloats, kCpu, cpu::Sigmoid},
    {"Sign", kNumbers, kCpu, cpu::Sign},
    {"Sin", kFloats, kCpu, cpu::Sin},
    {"Sinh", kFloats, kCpu, cpu::Sinh},
    {"Slice", kAll, kCpu, cpu::Slice},
    {"Sqrt", kFloats, kCpu, cpu::Sqrt},
    {"Sub", kNumbers | kComplex, kCpu, cpu::Sub},
    {"Tan", kFloats, kCpu, cpu::Tan},
    {"Tanh", kFloats, kCpu, cpu::Tanh},
    {"TfIdfVectorizer", TypeSet{kI32, kI64}, kCpu, cpu::TfIdfVectorizer},
    {"TopK", kNumbers, kCpu, cpu::TopK},
    {"Transpose", kAll, kCpu, cpu::Transpose},
    {"Unique", kNumbers | kLogical, kCpu, cpu::Unique},
    {"Where", kLogical, kCpu, cpu::Where},
    {"Xor", kLogical, kCpu, cpu::Xor},
    {"com.microsoft::MatMulNBits", kFloats, kCpu, cpu::MatMulNBits},
};

}  // namespace

std::span<const KernelRow> AllKernels() { return kRows; }

}  // namespace sbp
