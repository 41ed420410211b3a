#include "fold/leave.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "graph/literal.h"

namespace sbp {
namespace {

constexpr std::string_view kByZero = "an operand holds 0, by which nothing can be divided";
constexpr std::string_view kTooLarge = "a result does not fit its type";
constexpr std::string_view kNotComputed = "its operands are not of a kind that is computed here";

const Literal& ValueOf(const OpQuery& query, size_t operand) { return *query.operands[operand].value; }
bool Holds(const Literal& literal, int64_t value) { return std::ranges::count(literal.ints, value) > 0; }

}  // namespace

std::string_view LeaveUncountable(const OpQuery& query) {
  return query.operands[0].type.num_elements() == kInt64Max ? kNotComputed : "";
}

std::string_view LeaveFloats(const OpQuery& query) { return ValueOf(query, 0).is_integral() ? "" : kNotComputed; }

std::string_view LeaveIntegers(const OpQuery& query) { return ValueOf(query, 0).is_integral() ? kNotComputed : ""; }

std::string_view LeaveBeyondIntegers(const OpQuery& query) {
  constexpr double kLimit = 9.2e18;
  const int64_t to = query.attributes->Int("to", 0);
  const DType type = query.operands.size() > 1            ? query.operands[1].type.dtype
                     : to > 0 && to <= int64_t{UINT8_MAX} ? static_cast<DType>(to)
                                                          : DType::kUndefined;
  if (IsFloat(type) || type == DType::kBool) return "";
  const bool near =
      std::ranges::all_of(ValueOf(query, 0).floats, [](double value) { return std::abs(value) < kLimit; });
  return near ? "" : kTooLarge;
}

std::string_view LeaveUndefinedQuotient(const OpQuery& query) {
  if (Holds(ValueOf(query, 1), 0)) return kByZero;
  return Holds(ValueOf(query, 0), INT64_MIN) && Holds(ValueOf(query, 1), -1) ? kTooLarge : "";
}

std::string_view LeaveUndefinedRemainder(const OpQuery& query) {
  if (Holds(ValueOf(query, 1), 0)) return kByZero;
  return !ValueOf(query, 0).is_integral() && query.attributes->Int("fmod", 0) == 0 ? kNotComputed : "";
}

std::string_view LeaveUndefinedPower(const OpQuery& query) {
  const Literal &base = ValueOf(query, 0), &exponent = ValueOf(query, 1);
  if (!base.is_integral()) return "";
  if (!exponent.is_integral() || base.type.dtype != exponent.type.dtype) return kNotComputed;
  const bool ones = std::ranges::all_of(base.ints, [](int64_t value) { return value == 1; });
  const bool defined =
      std::ranges::all_of(exponent.ints, [&](int64_t value) { return value >= 0 && (value <= 64 || ones); });
  return defined ? "" : kTooLarge;
}

std::string_view LeaveUndefinedRange(const OpQuery& query) {
  for (size_t i = 0; i < 3; ++i) {
    const Literal& bound = ValueOf(query, i);
    if (bound.type.num_elements() != 1 || bound.type.dtype != ValueOf(query, 0).type.dtype) return kNotComputed;
    if (std::ranges::any_of(bound.floats, [](double value) { return !std::isfinite(value); })) return kNotComputed;
  }
  return "";
}

}  // namespace sbp
