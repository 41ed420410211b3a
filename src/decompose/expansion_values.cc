#include "decompose/expansion_values.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

double ToDouble(const ExpressionValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  const auto* d = std::get_if<double>(&value);
  return d == nullptr ? 0 : *d;
}

bool AllIntegers(const NumberList& list) {
  return std::all_of(list.begin(), list.end(),
                     [](const ExpressionValue& v) { return std::holds_alternative<int64_t>(v); });
}

// The type that numbers among these operands take: of the first tensor that is not bool; without one f32 if some
// number has a fraction, else i64.
DType NumberType(const std::vector<ExpansionValue>& operands, const ExpansionBuilder& builder) {
  for (const ExpansionValue& value : operands) {
    TensorId id;
    if (const auto* single = std::get_if<TensorId>(&value)) id = *single;
    const auto* several = std::get_if<std::vector<TensorId>>(&value);
    if (several != nullptr && !several->empty()) id = several->front();
    if (id.valid() && builder.type(id).dtype != DType::kBool) return builder.type(id).dtype;
  }
  const bool has_fraction = std::any_of(operands.begin(), operands.end(), [](const ExpansionValue& value) {
    const auto* scalar = std::get_if<ExpressionValue>(&value);
    return scalar != nullptr && std::holds_alternative<double>(*scalar);
  });
  return has_fraction ? DType::kF32 : DType::kI64;
}

}  // namespace

Status ErrorInText(const SourcePosition& at, std::string_view message) {
  return BadInput(StrCat(ToString(at), ": ", message));
}

Status SetAttribute(const Expression& at, const std::string& name, const ExpansionValue& value,
                    Attributes& attributes) {
  if (std::holds_alternative<std::monostate>(value)) return OkStatus();
  if (const auto* scalar = std::get_if<ExpressionValue>(&value)) {
    std::visit([&](const auto& v) { attributes.Set(name, v); }, *scalar);
    return OkStatus();
  }
  const auto* list = std::get_if<NumberList>(&value);
  if (list == nullptr) return ErrorInText(at.at, StrCat("attribute ", Quote(name), " cannot be a tensor"));
  if (AllIntegers(*list)) {
    std::vector<int64_t> ints;
    for (const ExpressionValue& v : *list) ints.push_back(std::get<int64_t>(v));
    attributes.Set(name, std::move(ints));
    return OkStatus();
  }
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (const ExpressionValue& v : *list) {
    if (const auto* text = std::get_if<std::string>(&v)) texts.push_back(*text);
    numbers.push_back(ToDouble(v));
  }
  if (texts.size() == list->size()) {
    attributes.Set(name, std::move(texts));
  } else {
    attributes.Set(name, std::move(numbers));
  }
  return OkStatus();
}

Result<std::vector<TensorId>> OperandsOf(const std::vector<ExpansionValue>& operands, ExpansionBuilder& builder) {
  const DType type = NumberType(operands, builder);
  std::vector<TensorId> ids;
  for (const ExpansionValue& value : operands) {
    if (const auto* several = std::get_if<std::vector<TensorId>>(&value)) {
      ids.insert(ids.end(), several->begin(), several->end());
      continue;
    }
    SBP_ASSIGN_OR_RETURN(const TensorId id, TensorOf(value, type, builder));
    ids.push_back(id);
  }
  return ids;
}

Result<TensorId> TensorOf(const ExpansionValue& value, DType type, ExpansionBuilder& builder) {
  if (const auto* id = std::get_if<TensorId>(&value)) return *id;
  if (const auto* scalar = std::get_if<ExpressionValue>(&value)) {
    if (std::holds_alternative<std::string>(*scalar)) return BadInput("a string cannot be an operand");
    const bool is_whole = std::holds_alternative<int64_t>(*scalar);
    if (is_whole && IsInteger(type)) return builder.Constant(Literal::Scalar(std::get<int64_t>(*scalar), type));
    return builder.Number(ToDouble(*scalar), type);
  }
  const auto* list = std::get_if<NumberList>(&value);
  if (list == nullptr) return TensorId();
  Literal literal;
  const auto size = static_cast<int64_t>(list->size());
  if (size > kMaxLiteralElements) return BadInput("a list is too long for a constant");
  if (AllIntegers(*list)) {
    for (const ExpressionValue& v : *list) literal.ints.push_back(std::get<int64_t>(v));
    literal.type = {DType::kI64, {size}};
  } else {
    for (const ExpressionValue& v : *list) literal.floats.push_back(ToDouble(v));
    literal.type = {IsFloat(type) ? type : DType::kF32, {size}};
  }
  return builder.Constant(std::move(literal));
}

}  // namespace sbp
