// Ops that compute element by element. Integers as their type stores them, floats rounded to their type.
#include <algorithm>
#include <cmath>
#include <limits>

#include "fold/evaluators.h"
#include "fold/value.h"

namespace sbp::evaluators {
namespace {

using Results = std::vector<Literal>;
using IntOperation = std::optional<int64_t> (*)(int64_t, int64_t);
using FloatOperation = double (*)(double, double);

// Runs visit(index into a, index into b) over the broadcast shape; nothing when the shapes do not fit.
template <typename Visit>
std::optional<Shape> Broadcast(const Literal& a, const Literal& b, Visit visit) {
  const std::optional<Shape> shape = BroadcastShape(a.type.shape, b.type.shape);
  if (!shape || !SmallCount(*shape)) return std::nullopt;
  const std::vector<int64_t> of_a = FlatIndices(*shape, BroadcastStrides(a.type.shape, *shape));
  const std::vector<int64_t> of_b = FlatIndices(*shape, BroadcastStrides(b.type.shape, *shape));
  for (size_t i = 0; i < of_a.size(); ++i) visit(static_cast<size_t>(of_a[i]), static_cast<size_t>(of_b[i]));
  return shape;
}

std::optional<Literal> Combine(const Literal& a, const Literal& b, IntOperation ints, FloatOperation floats) {
  if (a.type.dtype != b.type.dtype) return std::nullopt;
  const DType dtype = a.type.dtype;
  Literal out = EmptyLiteral(dtype, {});
  bool good = true;
  std::optional<Shape> shape;
  if (a.is_integral() && ints != nullptr) {
    shape = Broadcast(a, b, [&](size_t i, size_t j) {
      const std::optional<int64_t> value = ints(a.ints[i], b.ints[j]);
      good = good && value.has_value();
      out.ints.push_back(WrapInteger(dtype, value.value_or(0)));
    });
  } else if (CanRound(dtype) && floats != nullptr) {
    shape = Broadcast(
        a, b, [&](size_t i, size_t j) { out.floats.push_back(*RoundFloat(dtype, floats(a.floats[i], b.floats[j]))); });
  }
  if (!shape || !good) return std::nullopt;
  out.type.shape = *shape;
  return out;
}

std::string_view WhyNotCombined(const Literal& a, const Literal& b) {
  if (a.type.dtype != b.type.dtype) return "its operands are of different types";
  if (!BroadcastShape(a.type.shape, b.type.shape)) return "its operands do not fit";
  if (a.is_integral() && std::ranges::count(b.ints, 0) > 0)
    return "an operand holds 0, by which nothing can be divided";
  return "a result does not fit its type";
}

bool Binary(const FoldRequest& request, Results& results, IntOperation ints, FloatOperation floats) {
  if (request.operands.size() != 2) return false;
  std::optional<Literal> out = Combine(request.value(0), request.value(1), ints, floats);
  if (!out) return request.Refuse(WhyNotCombined(request.value(0), request.value(1)));
  results.push_back(std::move(*out));
  return true;
}

bool Variadic(const FoldRequest& request, Results& results, IntOperation ints, FloatOperation floats) {
  if (request.operands.empty()) return false;
  Literal total = request.value(0);
  total.raw.clear();
  for (size_t i = 1; i < request.operands.size(); ++i) {
    std::optional<Literal> next = Combine(total, request.value(i), ints, floats);
    if (!next) return false;
    total = std::move(*next);
  }
  results.push_back(std::move(total));
  return true;
}

template <typename Ints, typename Floats>
bool Compare(const FoldRequest& request, Results& results, Ints ints, Floats floats) {
  const Literal& a = request.value(0);
  const Literal& b = request.value(1);
  if (a.type.dtype != b.type.dtype) return false;
  Literal out = EmptyLiteral(DType::kBool, {});
  std::optional<Shape> shape;
  if (a.is_integral()) {
    shape = Broadcast(a, b, [&](size_t i, size_t j) { out.ints.push_back(ints(a.ints[i], b.ints[j]) ? 1 : 0); });
  } else if (IsFloat(a.type.dtype)) {
    shape = Broadcast(a, b, [&](size_t i, size_t j) { out.ints.push_back(floats(a.floats[i], b.floats[j]) ? 1 : 0); });
  }
  if (!shape) return false;
  out.type.shape = *shape;
  results.push_back(std::move(out));
  return true;
}

bool Logic(const FoldRequest& request, Results& results, IntOperation operation) {
  if (request.value(0).type.dtype != DType::kBool) return false;
  return Binary(request, results, operation, nullptr);
}

template <typename Ints, typename Floats>
bool Unary(const FoldRequest& request, Results& results, Ints ints, Floats floats) {
  const Literal& x = request.value(0);
  const DType dtype = x.type.dtype;
  Literal out = EmptyLiteral(dtype, x.type.shape);
  if (x.is_integral()) {
    if constexpr (std::is_same_v<Ints, std::nullptr_t>)
      return false;
    else
      for (const int64_t value : x.ints) out.ints.push_back(WrapInteger(dtype, ints(value)));
  } else if (CanRound(dtype)) {
    for (const double value : x.floats) out.floats.push_back(*RoundFloat(dtype, floats(value)));
  } else {
    return false;
  }
  results.push_back(std::move(out));
  return true;
}

// Sums and products that wrap around instead of overflowing.
std::optional<int64_t> WrappedSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
std::optional<int64_t> WrapSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
std::optional<int64_t> WrappedProduct(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t WrapNegate(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }

std::optional<int64_t> Truncate(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  return a / b;
}

// The sign of the divisor (fmod=0), or of the dividend (fmod=1).
std::optional<int64_t> FloorModulo(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
std::optional<int64_t> TruncatingModulo(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  return b == -1 ? 0 : a % b;
}

// The value of one float or integer element as a double.
double NumberAt(const Literal& literal, size_t index) {
  return literal.is_integral() ? static_cast<double>(literal.ints[index]) : literal.floats[index];
}

std::optional<int64_t> IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0 || exponent > 64) return base == 1 && exponent > 0 ? std::optional<int64_t>(1) : std::nullopt;
  std::optional<int64_t> result = 1;
  for (int64_t i = 0; i < exponent; ++i) result = WrappedProduct(*result, base);
  return result;
}

bool CastTo(const Literal& x, DType to, Results& results) {
  Literal out = EmptyLiteral(to, x.type.shape);
  const int64_t count = x.type.num_elements();
  if (x.type.dtype == DType::kString || (!out.is_integral() && !CanRound(to))) return false;
  if (!x.is_integral() && !IsFloat(x.type.dtype)) return false;
  for (int64_t n = 0; n < count; ++n) {
    const auto i = static_cast<size_t>(n);
    if (to == DType::kBool) {
      out.ints.push_back(x.is_integral() ? (x.ints[i] != 0 ? 1 : 0) : (x.floats[i] != 0 ? 1 : 0));
    } else if (!out.is_integral()) {
      out.floats.push_back(*RoundFloat(to, NumberAt(x, i)));
    } else if (x.is_integral()) {
      out.ints.push_back(WrapInteger(to, x.ints[i]));
    } else {
      const double value = std::trunc(x.floats[i]);
      if (!(std::abs(value) < 9.2e18)) return false;  // undefined in ONNX; also refuses NaN
      out.ints.push_back(WrapInteger(to, static_cast<int64_t>(value)));
    }
  }
  results.push_back(std::move(out));
  return true;
}

}  // namespace

bool Add(const FoldRequest& r, Results& out) {
  return Binary(r, out, WrappedSum, [](double a, double b) { return a + b; });
}
bool Subtract(const FoldRequest& r, Results& out) {
  return Binary(r, out, WrapSubtract, [](double a, double b) { return a - b; });
}
bool Multiply(const FoldRequest& r, Results& out) {
  return Binary(r, out, WrappedProduct, [](double a, double b) { return a * b; });
}
bool Divide(const FoldRequest& r, Results& out) {
  return Binary(r, out, Truncate, [](double a, double b) { return a / b; });
}

bool Modulo(const FoldRequest& r, Results& out) {
  if (r.attributes->Int("fmod", 0) == 0) return Binary(r, out, FloorModulo, nullptr);
  return Binary(r, out, TruncatingModulo, [](double a, double b) { return std::fmod(a, b); });
}

// The result has the type of the base; the exponent may have another one.
bool Power(const FoldRequest& request, Results& results) {
  const Literal& base = request.value(0);
  const Literal& exponent = request.value(1);
  if (base.type.dtype == exponent.type.dtype && base.is_integral())
    return Binary(request, results, IntegerPower, nullptr);
  if (!CanRound(base.type.dtype) || !(exponent.is_integral() || IsFloat(exponent.type.dtype))) return false;
  Literal out = EmptyLiteral(base.type.dtype, {});
  const std::optional<Shape> shape = Broadcast(base, exponent, [&](size_t i, size_t j) {
    out.floats.push_back(*RoundFloat(base.type.dtype, std::pow(base.floats[i], NumberAt(exponent, j))));
  });
  if (!shape) return false;
  out.type.shape = *shape;
  results.push_back(std::move(out));
  return true;
}

bool Minimum(const FoldRequest& r, Results& out) {
  return Variadic(
      r, out, [](int64_t a, int64_t b) { return std::optional(std::min(a, b)); },
      [](double a, double b) { return std::isnan(a) || a < b ? a : b; });
}
bool Maximum(const FoldRequest& r, Results& out) {
  return Variadic(
      r, out, [](int64_t a, int64_t b) { return std::optional(std::max(a, b)); },
      [](double a, double b) { return std::isnan(a) || a > b ? a : b; });
}

bool Clip(const FoldRequest& request, Results& results) {
  FoldRequest bounded = request;
  Results low;
  bounded.operands = {request.operands[0]};
  if (request.has(1)) bounded.operands.push_back(request.operands[1]);
  if (!Maximum(bounded, low)) return false;
  bounded.operands = {FoldOperand{true, &low[0].type, &low[0]}};
  if (request.has(2)) bounded.operands.push_back(request.operands[2]);
  return Minimum(bounded, results);
}

bool Equal(const FoldRequest& r, Results& out) {
  return Compare(r, out, std::equal_to<int64_t>(), std::equal_to<double>());
}
bool Less(const FoldRequest& r, Results& out) { return Compare(r, out, std::less<int64_t>(), std::less<double>()); }
bool LessOrEqual(const FoldRequest& r, Results& out) {
  return Compare(r, out, std::less_equal<int64_t>(), std::less_equal<double>());
}
bool Greater(const FoldRequest& r, Results& out) {
  return Compare(r, out, std::greater<int64_t>(), std::greater<double>());
}
bool GreaterOrEqual(const FoldRequest& r, Results& out) {
  return Compare(r, out, std::greater_equal<int64_t>(), std::greater_equal<double>());
}

bool And(const FoldRequest& r, Results& out) {
  return Logic(r, out, [](int64_t a, int64_t b) { return std::optional(a & b); });
}
bool Or(const FoldRequest& r, Results& out) {
  return Logic(r, out, [](int64_t a, int64_t b) { return std::optional(a | b); });
}
bool Xor(const FoldRequest& r, Results& out) {
  return Logic(r, out, [](int64_t a, int64_t b) { return std::optional(a ^ b); });
}
bool Not(const FoldRequest& r, Results& out) {
  if (r.value(0).type.dtype != DType::kBool) return false;
  return Unary(
      r, out, [](int64_t a) { return a == 0 ? 1 : 0; }, [](double a) { return a; });
}

bool Negate(const FoldRequest& r, Results& out) {
  return Unary(r, out, WrapNegate, [](double a) { return -a; });
}
bool Absolute(const FoldRequest& r, Results& out) {
  return Unary(
      r, out, [](int64_t a) { return a < 0 ? WrapNegate(a) : a; }, [](double a) { return std::abs(a); });
}
bool Relu(const FoldRequest& r, Results& out) {
  return Unary(
      r, out, [](int64_t a) { return std::max<int64_t>(a, 0); }, [](double a) { return a < 0 ? 0.0 : a; });
}
bool Sign(const FoldRequest& r, Results& out) {
  return Unary(
      r, out, [](int64_t a) { return (a > 0 ? 1 : 0) - (a < 0 ? 1 : 0); },
      [](double a) { return std::isnan(a) ? a : (a > 0 ? 1.0 : 0.0) - (a < 0 ? 1.0 : 0.0); });
}
bool Floor(const FoldRequest& r, Results& out) {
  return Unary(r, out, nullptr, [](double a) { return std::floor(a); });
}
bool Ceil(const FoldRequest& r, Results& out) {
  return Unary(r, out, nullptr, [](double a) { return std::ceil(a); });
}
bool Round(const FoldRequest& r, Results& out) {
  return Unary(r, out, nullptr, [](double a) { return std::nearbyint(a); });
}
bool SquareRoot(const FoldRequest& r, Results& out) {
  return Unary(r, out, nullptr, [](double a) { return std::sqrt(a); });
}
bool Reciprocal(const FoldRequest& r, Results& out) {
  return Unary(r, out, nullptr, [](double a) { return 1.0 / a; });
}
bool Exponential(const FoldRequest& r, Results& out) {
  return Unary(r, out, nullptr, [](double a) { return std::exp(a); });
}
bool Logarithm(const FoldRequest& r, Results& out) {
  return Unary(r, out, nullptr, [](double a) { return std::log(a); });
}

bool IsNan(const FoldRequest& request, Results& results) {
  const Literal& x = request.value(0);
  if (!IsFloat(x.type.dtype)) return false;
  Literal out = EmptyLiteral(DType::kBool, x.type.shape);
  for (const double value : x.floats) out.ints.push_back(std::isnan(value) ? 1 : 0);
  results.push_back(std::move(out));
  return true;
}

bool IsInf(const FoldRequest& request, Results& results) {
  const Literal& x = request.value(0);
  if (!IsFloat(x.type.dtype)) return false;
  const bool positive = request.attributes->Int("detect_positive", 1) != 0;
  const bool negative = request.attributes->Int("detect_negative", 1) != 0;
  Literal out = EmptyLiteral(DType::kBool, x.type.shape);
  for (const double value : x.floats)
    out.ints.push_back(std::isinf(value) && (value > 0 ? positive : negative) ? 1 : 0);
  results.push_back(std::move(out));
  return true;
}

bool Cast(const FoldRequest& request, Results& results) {
  const int64_t to = request.attributes->Int("to", 0);
  if (to <= 0 || to > static_cast<int64_t>(DType::kI2)) return false;
  return CastTo(request.value(0), static_cast<DType>(to), results);
}

bool CastLike(const FoldRequest& request, Results& results) {
  return CastTo(request.value(0), request.value(1).type.dtype, results);
}

}  // namespace sbp::evaluators
