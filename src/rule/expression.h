// Evaluation of the expressions in rules. What a name means is the caller's: see ExpressionScope.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"
#include "rule/syntax.h"

namespace sbp {

// Integers that overflow become doubles, so that flops never wrap; where an integer is required that is an error.
using ExpressionValue = std::variant<int64_t, double, std::string>;

// What the first argument of a function names.
enum class ArgumentKind : uint8_t { kExpression, kFactor, kOperand, kTensor, kAttribute, kParameter };

struct FunctionRow {
  std::string_view name;
  ArgumentKind first;
  int min_arguments, max_arguments;
  std::string_view doc;
};
// size, count, rank, dim, has, known, value, len, at, is, bits, dtype, wide, lowest, highest, inf, sqrt, exp, log, pow,
// min, max, abs, ceil, if.
std::span<const FunctionRow> AllFunctions();
const FunctionRow* FindFunction(std::string_view name);

// Resolves names and the functions that look at operands; `arguments` are the evaluated ones after the first.
class ExpressionScope {
 public:
  virtual ~ExpressionScope() = default;
  virtual Result<ExpressionValue> Name(const Expression& node) const = 0;
  virtual Result<ExpressionValue> Call(const Expression& node, std::span<const ExpressionValue> arguments) const = 0;
};

Result<ExpressionValue> Evaluate(const Expression& expression, const ExpressionScope& scope);
Result<int64_t> EvaluateInt(const Expression& expression, const ExpressionScope& scope);
Result<double> EvaluateDouble(const Expression& expression, const ExpressionScope& scope);
// Is the value neither 0 nor ""?
bool IsTrue(const ExpressionValue& value);

}  // namespace sbp
