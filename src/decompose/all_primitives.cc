#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "decompose/primitives.h"

namespace sbp {
namespace {

using enum PrimitiveClass;

constexpr PrimitiveRow kPrimitives[] = {
    {"Abs", kElementwise},
    {"Acos", kElementwise},
    {"Acosh", kElementwise},
    {"Add", kElementwise},
    {"And", kElementwise},
    {"ArgMax", kSort},
    {"ArgMin", kSort},
    {"Asin", kElementwise},
    {"Asinh", kElementwise},
    {"Atan", kElementwise},
    {"Atanh", kElementwise},
    {"AveragePool", kWindow},
    {"BitCast", kCast},
    {"BitShift", kElementwise},
    {"BitwiseAnd", kElementwise},
    {"BitwiseNot", kElementwise},
    {"BitwiseOr", kElementwise},
    {"BitwiseXor", kElementwise},
    {"Cast", kCast},
    {"Ceil", kElementwise},
    {"Concat", kConcat},
    {"ConstantOfShape", kBroadcast},
    {"Conv", kConvolution},
    {"ConvTranspose", kConvolution},
    {"Cos", kElementwise},
    {"Cosh", kElementwise},
    {"CumProd", kWindow},
    {"CumSum", kWindow},
    {"Div", kElementwise},
    {"Einsum", kDotGeneral},
    {"Equal", kElementwise},
    {"Erf", kElementwise},
    {"Exp", kElementwise},
    {"Expand", kBroadcast},
    {"Floor", kElementwise},
    {"Gather", kGather},
    {"GatherElements", kGather},
    {"GatherND", kGather},
    {"Greater", kElementwise},
    {"GreaterOrEqual", kElementwise},
    {"If", kControl},
    {"IsInf", kElementwise},
    {"IsNaN", kElementwise},
    {"Less", kElementwise},
    {"LessOrEqual", kElementwise},
    {"Log", kElementwise},
    {"Loop", kControl},
    {"MatMul", kDotGeneral},
    {"Max", kElementwise},
    {"MaxPool", kWindow},
    {"Min", kElementwise},
    {"Mod", kElementwise},
    {"Mul", kElementwise},
    {"Neg", kElementwise},
    {"NonMaxSuppression", kSort},
    {"NonZero", kSort},
    {"Not", kElementwise},
    {"Or", kElementwise},
    {"Pad", kPad},
    {"Pow", kElementwise},
    {"RandomNormal", kRandom},
    {"RandomUniform", kRandom},
    {"Range", kIota},
    {"Reciprocal", kElementwise},
    {"ReduceMax", kReduce},
    {"ReduceMin", kReduce},
    {"ReduceProd", kReduce},
    {"ReduceSum", kReduce},
    {"Reshape", kReshape},
    {"Round", kElementwise},
    {"Scan", kControl},
    {"ScatterElements", kScatter},
    {"ScatterND", kScatter},
    {"Sigmoid", kElementwise},
    {"Sign", kElementwise},
    {"Sin", kElementwise},
    {"Sinh", kElementwise},
    {"Slice", kSlice},
    {"Sqrt", kElementwise},
    {"Sub", kElementwise},
    {"Tan", kElementwise},
    {"Tanh", kElementwise},
    {"TopK", kSort},
    {"Transpose", kTranspose},
    {"Unique", kSort},
    {"Where", kSelect},
    {"Xor", kElementwise},
};

}  // namespace

std::span<const PrimitiveRow> AllPrimitives() { return kPrimitives; }

const PrimitiveRow* FindPrimitive(std::string_view op) {
  const auto* it = std::lower_bound(std::begin(kPrimitives), std::end(kPrimitives), op,
                                    [](const PrimitiveRow& row, std::string_view name) { return row.op < name; });
  return it != std::end(kPrimitives) && it->op == op ? it : nullptr;
}

std::string_view PrimitiveClassName(PrimitiveClass c) {
  static constexpr std::array<std::string_view, 19> kNames = {
      "element-wise", "cast",    "select", "reduce", "dot-general", "convolution", "windowed reduce",
      "gather",       "scatter", "slice",  "pad",    "concat",      "reshape",     "transpose",
      "broadcast",    "iota",    "sort",   "random", "control"};
  return kNames[static_cast<size_t>(c)];
}

}  // namespace sbp
