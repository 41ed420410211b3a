// Element-wise ops: numpy broadcasting of local parts.
#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

// The element of `a` that lies under index `at` of a result, aligned at the right; size-1 dims repeat.
double Under(const Array& a, const Index& at) {
  Index index(a.shape.size());
  const size_t skip = at.size() - a.shape.size();
  for (size_t d = 0; d < a.shape.size(); ++d) index[d] = a.shape[d] == 1 ? 0 : at[d + skip];
  return a.at(index);
}

template <auto F>
std::vector<Array> Unary(const Call& call) {
  Array out = call.MakeResult(0);
  for (size_t i = 0; i < out.values.size(); ++i) out.values[i] = F(call.in(0).values[i]);
  return {out};
}

template <auto F>
std::vector<Array> Binary(const Call& call) {
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) { out.at(at) = F(Under(call.in(0), at), Under(call.in(1), at)); });
  return {out};
}

// Left fold over any number of operands.
template <auto F>
std::vector<Array> Variadic(const Call& call) {
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    double value = Under(call.in(0), at);
    for (size_t i = 1; i < call.inputs.size(); ++i) value = F(value, Under(call.in(i), at));
    out.at(at) = value;
  });
  return {out};
}

// The remainder, of the dividend's sign (fmod) or the divisor's.
std::vector<Array> Mod(const Call& call) {
  if (call.attributes->Int("fmod", 0) != 0) return Binary<([](double a, double b) { return std::fmod(a, b); })>(call);
  return Binary<([](double a, double b) { return a - b * std::floor(a / b); })>(call);
}

std::vector<Array> Mean(const Call& call) {
  std::vector<Array> out = Variadic<([](double a, double b) { return a + b; })>(call);
  for (double& v : out[0].values) v /= static_cast<double>(call.inputs.size());
  return out;
}

std::vector<Array> Where(const Call& call) {
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    out.at(at) = Under(call.in(0), at) != 0 ? Under(call.in(1), at) : Under(call.in(2), at);
  });
  return {out};
}

std::vector<Array> Clip(const Call& call) {
  Array out = call.MakeResult(0);
  for (size_t i = 0; i < out.values.size(); ++i) {
    double v = call.in(0).values[i];
    if (call.has(1)) v = std::max(v, call.in(1).values[0]);
    if (call.has(2)) v = std::min(v, call.in(2).values[0]);
    out.values[i] = v;
  }
  return {out};
}

// One attribute-dependent activation: F(x, attributes).
template <auto F>
std::vector<Array> Activation(const Call& call) {
  Array out = call.MakeResult(0);
  for (size_t i = 0; i < out.values.size(); ++i) out.values[i] = F(call.in(0).values[i], *call.attributes);
  return {out};
}

std::vector<Array> Cast(const Call& call) {
  Array out = call.MakeResult(0);
  for (size_t i = 0; i < out.values.size(); ++i) {
    double v = call.in(0).values[i];
    if (out.dtype == DType::kBool) v = v != 0;
    if (IsInteger(out.dtype)) v = std::trunc(v);
    out.values[i] = v;
  }
  return {out};
}

std::vector<Array> BitShift(const Call& call) {
  Array out = call.MakeResult(0);
  const bool left = call.attributes->String("direction", "LEFT") == "LEFT";
  ForEach(out.shape, [&](const Index& at) {
    const double power = std::exp2(Under(call.in(1), at)), v = Under(call.in(0), at);
    out.at(at) = left ? v * power : std::floor(v / power);
  });
  return {out};
}

// Between f32 and i32.
std::vector<Array> BitCast(const Call& call) {
  Array out = call.MakeResult(0);
  for (size_t i = 0; i < out.values.size(); ++i) {
    const double v = call.in(0).values[i];
    out.values[i] = IsFloat(out.dtype) ? static_cast<double>(std::bit_cast<float>(static_cast<int32_t>(v)))
                                       : static_cast<double>(std::bit_cast<int32_t>(static_cast<float>(v)));
  }
  return {out};
}

std::vector<Array> Copy(const Call& call) {
  std::vector<Array> out{call.MakeResult(0)};
  out[0].values = call.in(0).values;
  if (call.result_pieces.size() > 1) out.push_back(call.MakeResult(1, 1));  // Dropout's mask at inference: all true
  return out;
}

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double GeluExact(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

void AddUnary(KernelTable& t) {
  t["Abs"] = Unary<([](double x) { return std::abs(x); })>;
  t["Acos"] = Unary<([](double x) { return std::acos(x); })>;
  t["Acosh"] = Unary<([](double x) { return std::acosh(x); })>;
  t["Asin"] = Unary<([](double x) { return std::asin(x); })>;
  t["Asinh"] = Unary<([](double x) { return std::asinh(x); })>;
  t["Atan"] = Unary<([](double x) { return std::atan(x); })>;
  t["Atanh"] = Unary<([](double x) { return std::atanh(x); })>;
  t["Ceil"] = Unary<([](double x) { return std::ceil(x); })>;
  t["Cos"] = Unary<([](double x) { return std::cos(x); })>;
  t["Cosh"] = Unary<([](double x) { return std::cosh(x); })>;
  t["Erf"] = Unary<([](double x) { return std::erf(x); })>;
  t["Exp"] = Unary<([](double x) { return std::exp(x); })>;
  t["Floor"] = Unary<([](double x) { return std::floor(x); })>;
  t["HardSwish"] = Unary<([](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); })>;
  t["IsNaN"] = Unary<([](double x) { return std::isnan(x) ? 1.0 : 0.0; })>;
  t["IsInf"] = Unary<([](double x) { return std::isinf(x) ? 1.0 : 0.0; })>;
  t["Log"] = Unary<([](double x) { return std::log(x); })>;
  t["Mish"] = Unary<([](double x) { return x * std::tanh(std::log1p(std::exp(x))); })>;
  t["Neg"] = Unary<([](double x) { return -x; })>;
  t["Not"] = Unary<([](double x) { return x == 0 ? 1.0 : 0.0; })>;
  t["Reciprocal"] = Unary<([](double x) { return 1 / x; })>;
  t["Relu"] = Unary<([](double x) { return std::max(x, 0.0); })>;
  t["Round"] = Unary<([](double x) { return std::nearbyint(x); })>;
  t["Sigmoid"] = Unary<Sigmoid>;
  t["Sign"] = Unary<Sign>;
  t["Sin"] = Unary<([](double x) { return std::sin(x); })>;
  t["Sinh"] = Unary<([](double x) { return std::sinh(x); })>;
  t["Softplus"] = Unary<([](double x) { return std::log1p(std::exp(x)); })>;
  t["Softsign"] = Unary<([](double x) { return x / (1 + std::abs(x)); })>;
  t["Sqrt"] = Unary<([](double x) { return std::sqrt(x); })>;
  t["Tan"] = Unary<([](double x) { return std::tan(x); })>;
  t["Tanh"] = Unary<([](double x) { return std::tanh(x); })>;
  t["BitwiseNot"] = Unary<([](double x) { return static_cast<double>(~static_cast<int64_t>(x)); })>;
}

void AddActivations(KernelTable& t) {
  t["Celu"] = Activation<([](double x, const Attributes& a) {
    const double alpha = a.Float("alpha", 1);
    return std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha));
  })>;
  t["Elu"] =
      Activation<([](double x, const Attributes& a) { return 0 < x ? x : a.Float("alpha", 1) * std::expm1(x); })>;
  t["Gelu"] = Activation<([](double x, const Attributes& a) {
    if (a.String("approximate", "none") == "none") return GeluExact(x);
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  })>;
  t["HardSigmoid"] = Activation<([](double x, const Attributes& a) {
    return std::clamp(a.Float("alpha", 0.2) * x + a.Float("beta", 0.5), 0.0, 1.0);
  })>;
  t["LeakyRelu"] = Activation<([](double x, const Attributes& a) { return 0 < x ? x : a.Float("alpha", 0.01) * x; })>;
  t["Selu"] = Activation<([](double x, const Attributes& a) {
    const double alpha = a.Float("alpha", 1.67326319217681884765625),
                 gamma = a.Float("gamma", 1.05070102214813232421875);
    return gamma * (0 < x ? x : alpha * std::expm1(x));
  })>;
  t["Shrink"] = Activation<([](double x, const Attributes& a) {
    const double bias = a.Float("bias", 0), lambda = a.Float("lambd", 0.5);
    return x < -lambda ? x + bias : lambda < x ? x - bias : 0;
  })>;
  t["Swish"] = Activation<([](double x, const Attributes& a) { return x * Sigmoid(a.Float("alpha", 1) * x); })>;
  t["ThresholdedRelu"] = Activation<([](double x, const Attributes& a) { return a.Float("alpha", 1) < x ? x : 0; })>;
}

void AddBinary(KernelTable& t) {
  t["Add"] = Binary<([](double a, double b) { return a + b; })>;
  t["Sub"] = Binary<([](double a, double b) { return a - b; })>;
  t["Mul"] = Binary<([](double a, double b) { return a * b; })>;
  t["Div"] = Binary<([](double a, double b) { return a / b; })>;
  t["Pow"] = Binary<([](double a, double b) { return std::pow(a, b); })>;
  t["Mod"] = Mod;
  t["PRelu"] = Binary<([](double x, double slope) { return x > 0 ? x : slope * x; })>;
  t["And"] = Binary<([](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; })>;
  t["Or"] = Binary<([](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; })>;
  t["Xor"] = Binary<([](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; })>;
  t["Equal"] = Binary<([](double a, double b) { return a == b ? 1.0 : 0.0; })>;
  t["Greater"] = Binary<([](double a, double b) { return a > b ? 1.0 : 0.0; })>;
  t["GreaterOrEqual"] = Binary<([](double a, double b) { return a >= b ? 1.0 : 0.0; })>;
  t["Less"] = Binary<([](double a, double b) { return a < b ? 1.0 : 0.0; })>;
  t["LessOrEqual"] = Binary<([](double a, double b) { return a <= b ? 1.0 : 0.0; })>;
  t["BitwiseAnd"] = Binary<([](double a, double b) { return static_cast<double>(int64_t(a) & int64_t(b)); })>;
  t["BitwiseOr"] = Binary<([](double a, double b) { return static_cast<double>(int64_t(a) | int64_t(b)); })>;
  t["BitwiseXor"] = Binary<([](double a, double b) { return static_cast<double>(int64_t(a) ^ int64_t(b)); })>;
  t["Max"] = Variadic<([](double a, double b) { return std::max(a, b); })>;
  t["Min"] = Variadic<([](double a, double b) { return std::min(a, b); })>;
  t["Sum"] = Variadic<([](double a, double b) { return a + b; })>;
  t["Mean"] = Mean;
  t["Where"] = Where;
}

}  // namespace

void AddElementwise(KernelTable& t) {
  AddUnary(t);
  AddActivations(t);
  AddBinary(t);
  t["BitCast"] = BitCast;
  t["BitShift"] = BitShift;
  t["Clip"] = Clip;
  t["Cast"] = Cast;
  t["CastLike"] = Cast;
  t["Identity"] = Copy;
  t["Dropout"] = Copy;
}

}  // namespace sbp::reference
