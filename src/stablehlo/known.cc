#include "stablehlo/known.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "graph/literal.h"

namespace sbp::stablehlo {
namespace {

using Numbers = std::vector<int64_t>;

constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();

std::optional<int64_t> ComparedNumbers(int64_t a, int64_t b, std::string_view direction) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  if (direction == "GT") return a > b;
  if (direction == "GE") return a >= b;
  return std::nullopt;
}

std::optional<int64_t> OfTwo(std::string_view op, int64_t a, int64_t b, bool is_bool) {
  if (op == "add" && !is_bool) return CheckedAdd(a, b);
  if (op == "subtract") return b == kInt64Min ? std::nullopt : CheckedAdd(a, -b);
  if (op == "multiply" && !is_bool) return CheckedMul(a, b);
  if (op == "maximum") return std::max(a, b);
  if (op == "minimum") return std::min(a, b);
  const bool divides = b != 0 && b != -1;
  if (op == "divide" && divides) return a / b;
  if (op == "remainder" && divides) return a % b;
  if (op == "and") return a & b;
  if (op == "or") return a | b;
  if (op == "xor") return a ^ b;
  return std::nullopt;
}

std::optional<int64_t> Computed(std::string_view op, const Numbers& x, std::string_view direction, bool is_bool) {
  if (x.size() == 1) {
    if (op == "convert") return is_bool ? static_cast<int64_t>(x[0] != 0) : x[0];
    if (op == "negate" && x[0] != kInt64Min) return -x[0];
    if (op == "not" && is_bool) return static_cast<int64_t>(x[0] == 0);
  }
  if (x.size() == 2) return op == "compare" ? ComparedNumbers(x[0], x[1], direction) : OfTwo(op, x[0], x[1], is_bool);
  if (x.size() == 3 && op == "select") return x[0] != 0 ? x[1] : x[2];
  if (x.size() == 3 && op == "clamp") return std::min(std::max(x[1], x[0]), x[2]);
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> KnownNumber(const Value& value) {
  if (value.scalar == nullptr || !value.scalar->is_integral() || value.scalar->ints.size() != 1) return std::nullopt;
  return value.scalar->ints.front();
}

ValueRef FoldKnown(std::string_view op, const std::vector<ValueRef>& operands, std::string_view direction,
                   const TensorType& result) {
  constexpr std::string_view kDialect = "stablehlo.";
  const bool is_bool = result.dtype == DType::kBool;
  if (!op.starts_with(kDialect) || result.rank() != 0 || !(is_bool || IsInteger(result.dtype))) return nullptr;
  Numbers numbers;
  for (const ValueRef& operand : operands) {
    const std::optional<int64_t> number = operand->type.rank() == 0 ? KnownNumber(*operand) : std::nullopt;
    const bool is_huge = number && *number < 0 && !IsSigned(operand->type.dtype);  // of 64 bits, read as negative
    if (!number || is_huge) return nullptr;
    numbers.push_back(*number);
  }
  const std::optional<int64_t> made = Computed(op.substr(kDialect.size()), numbers, direction, is_bool);
  const bool fits = made && (is_bool || (static_cast<double>(*made) >= LowestNumber(result.dtype) &&
                                         static_cast<double>(*made) <= HighestNumber(result.dtype)));
  return fits ? Writer::Known(*made, result.dtype) : nullptr;
}

std::optional<int64_t> KnownElement(const Value& value, const std::vector<int64_t>& start) {
  if (const std::optional<int64_t> number = KnownNumber(value)) return number;
  if (value.iota >= 0 && IsInteger(value.type.dtype)) return start[static_cast<size_t>(value.iota)];
  if (value.literal == nullptr || !value.literal->is_integral()) return std::nullopt;
  int64_t at = 0;
  for (size_t i = 0; i < start.size(); ++i) at = at * value.type.shape[i] + start[i];
  const Numbers& elements = value.literal->ints;
  const bool is_held = static_cast<int64_t>(elements.size()) == value.type.num_elements() && at >= 0 &&
                       at < static_cast<int64_t>(elements.size());
  return is_held ? std::optional(elements[static_cast<size_t>(at)]) : std::nullopt;
}

}  // namespace sbp::stablehlo
