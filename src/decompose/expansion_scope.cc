#include "decompose/expansion_scope.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/instance_builder.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

Status ErrorIn(const Expression& node, std::string_view message) {
  return BadInput(StrCat(ToString(node.at), ": ", message));
}

template <typename T>
NumberList ListOf(const std::vector<T>& values) {
  return NumberList(values.begin(), values.end());
}

ExpansionValue ValueOfAttribute(const AttributeValue* value) {
  if (value == nullptr) return std::monostate();
  if (const auto* i = std::get_if<int64_t>(value)) return ExpressionValue(*i);
  if (const auto* d = std::get_if<double>(value)) return ExpressionValue(*d);
  if (const auto* s = std::get_if<std::string>(value)) return ExpressionValue(*s);
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return ListOf(*list);
  if (const auto* list = std::get_if<std::vector<double>>(value)) return ListOf(*list);
  if (const auto* list = std::get_if<std::vector<std::string>>(value)) return ListOf(*list);
  return std::monostate();
}

NumberList ListOf(const Literal& literal) {
  return literal.is_integral() ? ListOf(literal.ints) : ListOf(literal.floats);
}

// From the end when negative.
Result<int64_t> DimensionIndex(const Expression& node, const TensorType& type, const ExpressionValue& value,
                               int64_t limit) {
  const auto* i = std::get_if<int64_t>(&value);
  if (i == nullptr) return ErrorIn(node, "a dimension's number is an integer");
  const int64_t index = *i < 0 ? *i + type.rank() : *i;
  if (index >= 0 && index < limit) return index;
  return ErrorIn(node, StrCat(Quote(node.arguments[0].text), " has rank ", type.rank(), ": no dimension ", *i));
}

}  // namespace

std::string ExpansionScope::Indexed(std::string_view name, int64_t index) { return StrCat(name, "[", index, "]"); }

ExpansionValue ExpansionScope::Parameter(std::string_view name) const {
  const OpOverload& overload = *builder_.binding().overload;
  for (size_t i = 0; i < overload.parameters.size(); ++i) {
    if (overload.parameters[i].name != name) continue;
    const ParameterSlot& slot = builder_.binding().parameters[i];
    if (overload.parameters[i].keyword || slot.count == 0) return ValueOfAttribute(builder_.Attribute(name));
    if (!overload.parameters[i].variadic) return builder_.Operand(static_cast<size_t>(slot.first));
    std::vector<TensorId> all;
    for (int k = 0; k < slot.count; ++k) all.push_back(builder_.Operand(static_cast<size_t>(slot.first + k)));
    return all;
  }
  return std::monostate();
}

TensorId ExpansionScope::VariadicOperand(std::string_view name, int64_t index) const {
  const OpOverload& overload = *builder_.binding().overload;
  for (size_t i = 0; i < overload.parameters.size(); ++i) {
    if (overload.parameters[i].name != name) continue;
    const ParameterSlot& slot = builder_.binding().parameters[i];
    if (overload.parameters[i].keyword || !overload.parameters[i].variadic || index < 0 || index >= slot.count) break;
    return builder_.Operand(static_cast<size_t>(slot.first + index));
  }
  return {};
}

Result<ExpansionValue> ExpansionScope::Find(const Expression& node) const {
  if (node.kind == Expression::Kind::kIndex) return FindIndexed(node);
  const auto it = locals_.find(node.text);
  if (it != locals_.end()) return it->second;
  return Parameter(node.text);
}

Result<ExpansionValue> ExpansionScope::FindIndexed(const Expression& node) const {
  SBP_ASSIGN_OR_RETURN(const int64_t from, EvaluateInt(node.arguments[0], *this));
  const bool is_range = node.arguments.size() > 1;
  int64_t limit = from + 1;
  if (is_range) {
    SBP_ASSIGN_OR_RETURN(limit, EvaluateInt(node.arguments[1], *this));
  }
  if (!is_range) {
    const auto local = locals_.find(Indexed(node.text, from));
    if (local != locals_.end()) return local->second;
    // One of very many operands, without a copy of the list of all.
    const TensorId one = locals_.contains(node.text) ? TensorId() : VariadicOperand(node.text, from);
    if (one.valid()) return ExpansionValue(one);
  }
  Expression whole = node;
  whole.kind = Expression::Kind::kName;
  SBP_ASSIGN_OR_RETURN(const ExpansionValue all, Find(whole));
  const auto* tensors = std::get_if<std::vector<TensorId>>(&all);
  const auto* list = std::get_if<NumberList>(&all);
  std::vector<TensorId> taken;
  NumberList numbers;
  for (int64_t i = from; i < limit; ++i) {
    const auto local = locals_.find(Indexed(node.text, i));
    if (local != locals_.end()) {
      if (!is_range) return local->second;
      const auto* id = std::get_if<TensorId>(&local->second);
      const auto* number = std::get_if<ExpressionValue>(&local->second);
      if (id == nullptr && number == nullptr) {
        return ErrorIn(node, StrCat(Indexed(node.text, i), " is neither a tensor nor a number"));
      }
      if (id != nullptr) taken.push_back(*id);
      if (number != nullptr) numbers.push_back(*number);
    } else if (tensors != nullptr && i >= 0 && i < static_cast<int64_t>(tensors->size())) {
      taken.push_back((*tensors)[i]);
    } else if (list != nullptr && i >= 0 && i < static_cast<int64_t>(list->size())) {
      numbers.push_back((*list)[i]);
    } else {
      return ErrorIn(node, StrCat("there is no ", Indexed(node.text, i)));
    }
  }
  if (!numbers.empty() && !taken.empty()) return ErrorIn(node, "numbers and tensors in one range");
  if (list != nullptr || !numbers.empty())
    return is_range ? ExpansionValue(std::move(numbers)) : ExpansionValue(numbers.at(0));
  return is_range ? ExpansionValue(std::move(taken)) : ExpansionValue(taken.at(0));
}

Result<std::string> ExpansionScope::FullName(const Expression& node) const {
  if (node.kind != Expression::Kind::kIndex || node.arguments.size() != 1) return node.text;
  SBP_ASSIGN_OR_RETURN(const int64_t index, EvaluateInt(node.arguments[0], *this));
  return Indexed(node.text, index);
}

bool ExpansionScope::IsTensor(const Expression& node) const {
  switch (node.kind) {
    case Expression::Kind::kOpCall:
      return true;
    case Expression::Kind::kName:
    case Expression::Kind::kIndex: {
      const Result<ExpansionValue> value = Find(node);
      return value.ok() &&
             (std::holds_alternative<TensorId>(*value) || std::holds_alternative<std::vector<TensorId>>(*value));
    }
    case Expression::Kind::kCall:
      if (node.text != "if") return false;
      return IsTensor(node.arguments[1]) || IsTensor(node.arguments[2]);
    case Expression::Kind::kUnary:
    case Expression::Kind::kBinary:
      return std::any_of(node.arguments.begin(), node.arguments.end(),
                         [this](const Expression& argument) { return IsTensor(argument); });
    default:
      return false;
  }
}

Result<ExpressionValue> ExpansionScope::Name(const Expression& node) const {
  SBP_ASSIGN_OR_RETURN(const ExpansionValue value, Find(node));
  if (const auto* scalar = std::get_if<ExpressionValue>(&value)) return *scalar;
  if (const auto* id = std::get_if<TensorId>(&value); id != nullptr && id->valid()) {
    const Literal* literal = builder_.value(*id);
    if (literal != nullptr && literal->type.num_elements() == 1) return ListOf(*literal).at(0);
    return ErrorIn(node, StrCat("the value of ", Quote(node.text), " ", kMustBeKnown, ", and is not"));
  }
  if (std::holds_alternative<NumberList>(value)) {
    return ErrorIn(node, StrCat(Quote(node.text), " is a list; a number is needed here"));
  }
  return ErrorIn(node, StrCat(Quote(node.text), " is absent and has no default"));
}

const TensorType* ExpansionScope::TypeOf(const Expression& node) const {
  const Result<ExpansionValue> value = Find(node);
  if (value.ok()) {
    if (const auto* id = std::get_if<TensorId>(&*value)) return id->valid() ? &builder_.type(*id) : nullptr;
    const auto* all = std::get_if<std::vector<TensorId>>(&*value);
    if (all != nullptr && !all->empty() && all->front().valid()) return &builder_.type(all->front());
  }
  const ParameterSlot* slot = builder_.binding().FindResult(node.text);
  if (slot == nullptr) return nullptr;
  const Result<int64_t> index =
      node.kind == Expression::Kind::kIndex ? EvaluateInt(node.arguments[0], *this) : Result<int64_t>(0);
  if (!index.ok() || *index < 0 || *index >= slot->count) return nullptr;
  return &builder_.instance().results[slot->first + *index];
}

const Literal* ExpansionScope::ValueOf(const Expression& node) const {
  const Result<ExpansionValue> value = Find(node);
  const auto* id = value.ok() ? std::get_if<TensorId>(&*value) : nullptr;
  return id != nullptr && id->valid() ? builder_.value(*id) : nullptr;
}

Result<ExpressionValue> ExpansionScope::Call(const Expression& node, std::span<const ExpressionValue> arguments) const {
  const Expression& first = node.arguments[0];
  if (node.text == "len" || node.text == "at") return OfList(node, arguments);
  const TensorType* type = TypeOf(first);
  if (node.text == "has") {
    SBP_ASSIGN_OR_RETURN(const std::string name, FullName(first));
    if (absent_.contains(name)) return ExpressionValue(int64_t{0});
    SBP_ASSIGN_OR_RETURN(const ExpansionValue value, Find(first));
    const auto* id = std::get_if<TensorId>(&value);
    if (id != nullptr || std::holds_alternative<std::monostate>(value)) {
      return ExpressionValue(int64_t{type != nullptr && type->dtype != DType::kUndefined});
    }
    const bool is_attribute = locals_.find(first.text) == locals_.end() && std::get_if<ExpressionValue>(&value);
    return ExpressionValue(int64_t{!is_attribute || builder_.query().attributes->Find(first.text) != nullptr});
  }
  if (IsTypeFunction(node.text)) {
    return CallTypeFunction(node, type != nullptr ? type->dtype : TypeOfAttribute(builder_.Attribute(first.text)),
                            arguments);
  }
  if (node.text == "known") return ExpressionValue(int64_t{ValueOf(first) != nullptr});
  if (node.text == "count" && type == nullptr) return ExpressionValue(int64_t{0});
  if (type == nullptr) return ErrorIn(node, StrCat(Quote(first.text), " is absent, or no tensor"));
  return OfTensor(node, *type, arguments);
}

Result<ExpressionValue> ExpansionScope::OfTensor(const Expression& node, const TensorType& type,
                                                 std::span<const ExpressionValue> arguments) const {
  if (node.text == "count") return ExpressionValue(type.num_elements());
  if (node.text == "rank") return ExpressionValue(int64_t{type.rank()});
  if (node.text == "bits") return ExpressionValue(int64_t{DTypeBits(type.dtype)});
  if (node.text == "dim") {
    SBP_ASSIGN_OR_RETURN(const int64_t index, DimensionIndex(node, type, arguments[0], type.rank()));
    return ExpressionValue(type.shape[index]);
  }
  if (node.text != "value") return ErrorIn(node, StrCat("no function ", node.text, " of a tensor"));
  const Literal* literal = ValueOf(node.arguments[0]);
  if (literal == nullptr) {
    return ErrorIn(node, StrCat("the value of ", Quote(node.arguments[0].text), " ", kMustBeKnown, ", and is not"));
  }
  const NumberList values = ListOf(*literal);
  const auto* index = arguments.empty() ? nullptr : std::get_if<int64_t>(&arguments[0]);
  const int64_t i = index == nullptr ? 0 : *index;
  if (i >= 0 && i < static_cast<int64_t>(values.size())) return values[i];
  return ErrorIn(node, StrCat(Quote(node.arguments[0].text), " has ", values.size(), " entries"));
}

Result<ExpressionValue> ExpansionScope::OfList(const Expression& node,
                                               std::span<const ExpressionValue> arguments) const {
  SBP_ASSIGN_OR_RETURN(const ExpansionValue value, Find(node.arguments[0]));
  const auto* list = std::get_if<NumberList>(&value);
  const auto* tensors = std::get_if<std::vector<TensorId>>(&value);
  const ParameterSlot* result = builder_.binding().FindResult(node.arguments[0].text);
  const auto size = static_cast<int64_t>(list != nullptr      ? list->size()
                                         : tensors != nullptr ? tensors->size()
                                         : result != nullptr  ? result->count
                                                              : 0);
  if (node.text == "len") return ExpressionValue(size);
  const auto* index = std::get_if<int64_t>(&arguments[0]);
  if (index == nullptr) return ErrorIn(node, "a position in a list is an integer");
  const int64_t i = *index < 0 ? *index + size : *index;
  if (list != nullptr && i >= 0 && i < size) return (*list)[i];
  if (arguments.size() > 1) return arguments[1];
  return ErrorIn(node, StrCat(Quote(node.arguments[0].text), " has ", size, " entries"));
}

Result<NumberList> ExpansionScope::ListFunction(const Expression& node) const {
  const Expression& first = node.arguments[0];
  if (node.text == "values") {
    const Literal* literal = ValueOf(first);
    if (literal != nullptr) return ListOf(*literal);
    return ErrorIn(node, StrCat("the value of ", Quote(first.text), " ", kMustBeKnown, ", and is not"));
  }
  const TensorType* type = TypeOf(first);
  if (type == nullptr) return ErrorIn(node, StrCat(Quote(first.text), " is absent, or no tensor"));
  int64_t bounds[] = {0, type->rank()};
  for (size_t i = 1; i < node.arguments.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(ExpressionValue bound, Evaluate(node.arguments[i], *this));
    SBP_ASSIGN_OR_RETURN(bounds[i - 1], DimensionIndex(node, *type, bound, type->rank() + 1));
  }
  NumberList dims;
  for (int64_t d = bounds[0]; d < bounds[1]; ++d) dims.emplace_back(type->shape[d]);
  return dims;
}

}  // namespace sbp
