#include "rule/expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/text.h"
#include "rule/equation.h"

namespace sbp {
namespace {

constexpr std::array<FunctionRow, 28> kFunctions = {{
    {"size", ArgumentKind::kFactor, 1, 1, "elements of a factor"},
    {"count", ArgumentKind::kTensor, 1, 1, "elements of an operand or result; 0 when absent"},
    {"rank", ArgumentKind::kOperand, 1, 1, "dimensions of an operand"},
    {"dim", ArgumentKind::kOperand, 2, 2, "dim(x, i): size of dimension i, counted from the end when negative"},
    {"has", ArgumentKind::kParameter, 1, 1, "1 if the operand is present or the op says the attribute"},
    {"value", ArgumentKind::kOperand, 1, 2, "value(x, i): entry i (default 0) of an operand whose value is known"},
    {"len", ArgumentKind::kAttribute, 1, 1, "entries of a list attribute; 0 when absent"},
    {"at", ArgumentKind::kAttribute, 2, 3, "at(a, i, default): entry i of a list attribute"},
    {"is", ArgumentKind::kParameter, 2, 2,
     "is(x, \"float\"): is the operand (or type attribute) of this type or group?"},
    {"bits", ArgumentKind::kOperand, 1, 1, "bits of one element"},
    {"dtype", ArgumentKind::kParameter, 1, 1, "the name of the operand's (or type attribute's) type: \"f32\""},
    {"wide", ArgumentKind::kParameter, 1, 1, "that name, but \"f32\" for narrower floats"},
    {"known", ArgumentKind::kOperand, 1, 1, "1 if the value of the operand is known"},
    {"lowest", ArgumentKind::kParameter, 1, 1, "the lowest finite number of the operand's (or type attribute's) type"},
    {"highest", ArgumentKind::kParameter, 1, 1, "the highest finite number of that type"},
    {"inf", ArgumentKind::kExpression, 0, 0, "infinity"},
    {"sqrt", ArgumentKind::kExpression, 1, 1, "the square root"},
    {"exp", ArgumentKind::kExpression, 1, 1, "e to the power a"},
    {"log", ArgumentKind::kExpression, 1, 1, "the natural logarithm"},
    {"pow", ArgumentKind::kExpression, 2, 2, "pow(a, b): a to the power b"},
    {"min", ArgumentKind::kExpression, 2, 2, "the smaller"},
    {"max", ArgumentKind::kExpression, 2, 2, "the larger"},
    {"abs", ArgumentKind::kExpression, 1, 1, "the absolute value"},
    {"ceil", ArgumentKind::kExpression, 2, 2, "ceil(a, b): a / b rounded up"},
    {"if", ArgumentKind::kExpression, 3, 3, "if(c, a, b): a where c is not 0, else b"},
    {"adjoint", ArgumentKind::kExpression, 2, 3,
     "adjoint(e, i): Einsum's equation for the cotangent of operand i; adjoint(e, i, 1): with a tensor of ones behind"},
    {"repeats", ArgumentKind::kExpression, 2, 3,
     "repeats(e, i): how many letters operand i of equation e repeats; repeats(e, i, k): the dimension of one"},
    {"lone", ArgumentKind::kExpression, 2, 2,
     "lone(e, i): 1 if a letter of operand i of equation e stands nowhere else"},
}};

Status ErrorAt(const Expression& node, std::string_view message) {
  return BadInput(StrCat(ToString(node.at), ": ", message));
}

bool IsString(const ExpressionValue& value) { return std::holds_alternative<std::string>(value); }

double AsDouble(const ExpressionValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  return std::get<double>(value);
}

// Rounds towards minus infinity, as shape arithmetic of exporters does.
int64_t FloorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0); }

Result<ExpressionValue> Divide(const Expression& node, const ExpressionValue& a, const ExpressionValue& b) {
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  if (AsDouble(b) == 0) return ErrorAt(node, "division by zero");
  if (x == nullptr || y == nullptr) {
    if (node.text == "%") return ErrorAt(node, "% needs integers");
    return ExpressionValue(AsDouble(a) / AsDouble(b));
  }
  if (*y == -1) {  // the one division that can overflow
    if (node.text == "%") return ExpressionValue(int64_t{0});
    return *x == std::numeric_limits<int64_t>::min() ? ExpressionValue(-AsDouble(a)) : ExpressionValue(-*x);
  }
  return ExpressionValue(node.text == "%" ? *x - FloorDiv(*x, *y) * *y : FloorDiv(*x, *y));
}

template <typename T>
bool Compare(std::string_view op, const T& a, const T& b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  return a >= b;
}

Result<ExpressionValue> Arithmetic(const Expression& node, const ExpressionValue& a, const ExpressionValue& b) {
  const std::string& op = node.text;
  if (op == "/" || op == "%") return Divide(node, a, b);
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  if (x != nullptr && y != nullptr) {
    int64_t value = 0;
    bool overflow = op == "+"   ? __builtin_add_overflow(*x, *y, &value)
                    : op == "-" ? __builtin_sub_overflow(*x, *y, &value)
                                : __builtin_mul_overflow(*x, *y, &value);
    if (!overflow) return ExpressionValue(value);
  }
  double l = AsDouble(a), r = AsDouble(b);
  return ExpressionValue(op == "+" ? l + r : op == "-" ? l - r : l * r);
}

Result<ExpressionValue> Binary(const Expression& node, const ExpressionScope& scope) {
  SBP_ASSIGN_OR_RETURN(ExpressionValue a, Evaluate(node.arguments[0], scope));
  if (node.text == "&&" && !IsTrue(a)) return ExpressionValue(int64_t{0});
  if (node.text == "||" && IsTrue(a)) return ExpressionValue(int64_t{1});
  SBP_ASSIGN_OR_RETURN(ExpressionValue b, Evaluate(node.arguments[1], scope));
  if (node.text == "&&" || node.text == "||") return ExpressionValue(int64_t{IsTrue(b)});
  static constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
  const bool compares =
      std::find(std::begin(kComparisons), std::end(kComparisons), node.text) != std::end(kComparisons);
  if (IsString(a) != IsString(b) || (IsString(a) && !compares)) {
    return ErrorAt(node, StrCat("\"", node.text, "\" between a string and ", IsString(b) ? "a string" : "a number"));
  }
  if (!compares) return Arithmetic(node, a, b);
  if (a.index() == b.index()) return ExpressionValue(int64_t{Compare(node.text, a, b)});
  return ExpressionValue(int64_t{Compare(node.text, AsDouble(a), AsDouble(b))});
}

Result<ExpressionValue> Unary(const Expression& node, const ExpressionScope& scope) {
  SBP_ASSIGN_OR_RETURN(ExpressionValue a, Evaluate(node.arguments[0], scope));
  if (node.text == "!") return ExpressionValue(int64_t{!IsTrue(a)});
  if (IsString(a)) return ErrorAt(node, "\"-\" before a string");
  return Arithmetic(Expression{.kind = node.kind, .at = node.at, .text = "-"}, ExpressionValue(int64_t{0}), a);
}

// The functions of numbers only.
Result<ExpressionValue> OfEquation(const Expression& node, const ExpressionValue& equation,
                                   const ExpressionValue& operand, const std::optional<ExpressionValue>& third) {
  const auto* text = std::get_if<std::string>(&equation);
  const auto* index = std::get_if<int64_t>(&operand);
  if (text == nullptr || index == nullptr) {
    return ErrorAt(node, StrCat(node.text, "(e, i) needs an equation and the number of an operand"));
  }
  if (node.text == "lone") {
    const Result<bool> lone = HasLoneLetter(*text, *index);
    return lone.ok() ? Result<ExpressionValue>(int64_t{*lone}) : ErrorAt(node, lone.status().message());
  }
  if (node.text == "repeats") {
    const Result<std::vector<int64_t>> dims = RepeatedDims(*text, *index);
    if (!dims.ok()) return ErrorAt(node, dims.status().message());
    const auto* k = third ? std::get_if<int64_t>(&*third) : nullptr;
    if (!third) return ExpressionValue(static_cast<int64_t>(dims->size()));
    if (k != nullptr && *k >= 0 && *k < static_cast<int64_t>(dims->size())) return ExpressionValue((*dims)[*k]);
    return ErrorAt(node, "no such repeated letter");
  }
  Result<std::string> adjoint = AdjointEquation(*text, *index, third.has_value());
  return adjoint.ok() ? Result<ExpressionValue>(std::move(*adjoint)) : ErrorAt(node, adjoint.status().message());
}

Result<ExpressionValue> CallPlain(const Expression& node, const ExpressionScope& scope) {
  if (node.text == "inf") return ExpressionValue(std::numeric_limits<double>::infinity());
  SBP_ASSIGN_OR_RETURN(ExpressionValue a, Evaluate(node.arguments[0], scope));
  if (node.text == "if") return Evaluate(node.arguments[IsTrue(a) ? 1 : 2], scope);
  ExpressionValue b = int64_t{0};
  if (node.arguments.size() > 1) {
    SBP_ASSIGN_OR_RETURN(b, Evaluate(node.arguments[1], scope));
  }
  const bool is_equation = node.text == "adjoint" || node.text == "lone" || node.text == "repeats";
  if (is_equation && node.arguments.size() < 3) return OfEquation(node, a, b, std::nullopt);
  if (is_equation) {
    SBP_ASSIGN_OR_RETURN(const ExpressionValue c, Evaluate(node.arguments[2], scope));
    return OfEquation(node, a, b, c);
  }
  if (IsString(a) || IsString(b)) return ErrorAt(node, StrCat(node.text, " needs numbers"));
  if (node.text == "min") return AsDouble(b) < AsDouble(a) ? b : a;
  if (node.text == "max") return AsDouble(b) > AsDouble(a) ? b : a;
  if (node.text == "sqrt") return ExpressionValue(std::sqrt(AsDouble(a)));
  if (node.text == "exp") return ExpressionValue(std::exp(AsDouble(a)));
  if (node.text == "log") return ExpressionValue(std::log(AsDouble(a)));
  if (node.text == "pow") return ExpressionValue(std::pow(AsDouble(a), AsDouble(b)));
  if (node.text == "abs") {
    if (AsDouble(a) >= 0) return a;
    return Arithmetic(Expression{.at = node.at, .text = "-"}, ExpressionValue(int64_t{0}), a);
  }
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  if (x == nullptr || y == nullptr || *y <= 0) return ErrorAt(node, "ceil(a, b) needs integers and a positive b");
  return ExpressionValue(FloorDiv(*x, *y) + (*x % *y != 0 ? 1 : 0));
}

}  // namespace

std::span<const FunctionRow> AllFunctions() { return kFunctions; }

const FunctionRow* FindFunction(std::string_view name) {
  for (const FunctionRow& row : kFunctions) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool IsTrue(const ExpressionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return !text->empty();
  return AsDouble(value) != 0;
}

Result<ExpressionValue> Evaluate(const Expression& node, const ExpressionScope& scope) {
  switch (node.kind) {
    case Expression::Kind::kInt:
      return ExpressionValue(node.int_value);
    case Expression::Kind::kFloat:
      return ExpressionValue(node.float_value);
    case Expression::Kind::kString:
      return ExpressionValue(node.text);
    case Expression::Kind::kName:
    case Expression::Kind::kIndex:
      return scope.Name(node);
    case Expression::Kind::kUnary:
      return Unary(node, scope);
    case Expression::Kind::kBinary:
      return Binary(node, scope);
    case Expression::Kind::kCall:
      break;
    default:
      return ErrorAt(node, "a number or a string is needed here");
  }
  const FunctionRow* row = FindFunction(node.text);
  if (row == nullptr) return ErrorAt(node, StrCat("unknown function ", Quote(node.text)));
  if (row->first == ArgumentKind::kExpression) return CallPlain(node, scope);
  std::vector<ExpressionValue> arguments;
  for (size_t i = 1; i < node.arguments.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(ExpressionValue value, Evaluate(node.arguments[i], scope));
    arguments.push_back(std::move(value));
  }
  return scope.Call(node, arguments);
}

Result<int64_t> EvaluateInt(const Expression& expression, const ExpressionScope& scope) {
  SBP_ASSIGN_OR_RETURN(ExpressionValue value, Evaluate(expression, scope));
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  if (const auto* d = std::get_if<double>(&value); d != nullptr && *d == std::floor(*d) && std::abs(*d) < 9e18) {
    return static_cast<int64_t>(*d);
  }
  return ErrorAt(expression, IsString(value) ? "an integer is needed here, not a string"
                                             : "an integer is needed here (below 2^63)");
}

Result<double> EvaluateDouble(const Expression& expression, const ExpressionScope& scope) {
  SBP_ASSIGN_OR_RETURN(ExpressionValue value, Evaluate(expression, scope));
  if (IsString(value)) return ErrorAt(expression, "a number is needed here, not a string");
  return AsDouble(value);
}

}  // namespace sbp
