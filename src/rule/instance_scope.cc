#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "rule/expression.h"
#include "rule/factor_map.h"
#include "rule/instance_builder.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

Status ErrorAt(const Expression& node, std::string_view message) {
  return BadInput(StrCat(ToString(node.at), ": ", message));
}

// The integer argument `index`, or `fallback` when it is not given.
Result<int64_t> IntArgument(const Expression& node, std::span<const ExpressionValue> arguments, size_t index,
                            int64_t fallback) {
  if (index >= arguments.size()) return fallback;
  if (const auto* i = std::get_if<int64_t>(&arguments[index])) return *i;
  return ErrorAt(node, StrCat("argument ", index + 2, " of ", node.text, " must be an integer"));
}

}  // namespace

DType TypeOfAttribute(const AttributeValue* value) {
  std::optional<DType> type;
  if (value == nullptr) return DType::kUndefined;
  if (const auto* i = std::get_if<int64_t>(value); i != nullptr && *i >= 0 && *i <= static_cast<int>(DType::kI2)) {
    type = static_cast<DType>(*i);
  }
  if (const auto* s = std::get_if<std::string>(value)) type = ParseDType(*s);
  return type.value_or(DType::kUndefined);
}

bool IsTypeFunction(std::string_view name) {
  return name == "is" || name == "dtype" || name == "wide" || name == "lowest" || name == "highest";
}

Result<ExpressionValue> CallTypeFunction(const Expression& node, DType type,
                                         std::span<const ExpressionValue> arguments) {
  if (node.text == "is") {
    const auto* name = std::get_if<std::string>(&arguments[0]);
    if (name == nullptr || !IsTypeName(*name)) return ErrorAt(node, "is(x, \"type\") needs the name of a type");
    return ExpressionValue(int64_t{type != DType::kUndefined && TypeMatches(*name, type)});
  }
  if (type == DType::kUndefined) return ErrorAt(node, StrCat(node.text, "(x): x has no type here"));
  if (node.text == "wide" && IsFloat(type) && DTypeBits(type) < 32) type = DType::kF32;
  if (node.text == "dtype" || node.text == "wide") return ExpressionValue(std::string(DTypeName(type)));
  const double limit = node.text == "lowest" ? LowestNumber(type) : HighestNumber(type);
  if (!IsInteger(type) || DTypeBits(type) > 32) return ExpressionValue(limit);
  return ExpressionValue(static_cast<int64_t>(limit));
}

Result<ExpressionValue> InstanceScope::Name(const Expression& node) const {
  const AttributeValue* value = builder_.Attribute(node.text);
  if (value != nullptr) {
    if (const auto* i = std::get_if<int64_t>(value)) return ExpressionValue(*i);
    if (const auto* d = std::get_if<double>(value)) return ExpressionValue(*d);
    if (const auto* s = std::get_if<std::string>(value)) return ExpressionValue(*s);
    return ErrorAt(node, StrCat("attribute ", Quote(node.text), " is a list; take len(", node.text, ") or at(",
                                node.text, ", i)"));
  }
  // A Scalar parameter given as an operand.
  const ParameterSlot* slot = builder_.binding.FindOperand(node.text);
  if (slot != nullptr && slot->count == 1) {
    const Literal* literal = builder_.query.operands[slot->first].known();
    if (literal != nullptr && literal->ints.size() == 1) return ExpressionValue(literal->ints[0]);
    if (literal != nullptr && literal->floats.size() == 1) return ExpressionValue(literal->floats[0]);
    return ErrorAt(node, StrCat("the value of ", Quote(node.text), " ", kMustBeKnown, ", and is not"));
  }
  return ErrorAt(node, StrCat("attribute ", Quote(node.text), " is absent and has no default"));
}

int64_t InstanceScope::Count(std::string_view name) const {
  const RuleInstance& out = builder_.out;
  int64_t count = 0;
  if (const ParameterSlot* slot = builder_.binding.FindOperand(name)) {
    for (int i = slot->first; i < slot->first + slot->count; ++i) {
      if (out.present[i]) count = std::max(count, out.operands[i].num_elements());
    }
    return count;
  }
  const ParameterSlot* slot = builder_.binding.FindResult(name);
  if (slot == nullptr) return 0;
  for (int i = slot->first; i < slot->first + slot->count; ++i) {
    if (out.results[i].dtype != DType::kUndefined) count = std::max(count, out.results[i].num_elements());
  }
  return count;
}

Result<ExpressionValue> InstanceScope::Call(const Expression& node, std::span<const ExpressionValue> arguments) const {
  const std::string& name = node.arguments[0].text;
  if (node.text == "size") {
    FactorId f = FindFactor(builder_.out.map, name);
    if (f < 0 || builder_.out.map.factors[f].size < 0) {
      return ErrorAt(node, StrCat("the size of ", Quote(name), " is not known here"));
    }
    return ExpressionValue(builder_.out.map.factors[f].size);
  }
  if (node.text == "count") return ExpressionValue(Count(name));
  if (node.text == "len" || node.text == "at") return OfAttribute(node, arguments);
  const ParameterSlot* slot = builder_.binding.FindOperand(name);
  const bool present = slot != nullptr && slot->count > 0 && builder_.query.operands[slot->first].present;
  if (node.text == "has") {
    return ExpressionValue(int64_t{present || builder_.query.attributes->Find(name) != nullptr});
  }
  if (IsTypeFunction(node.text)) {
    return CallTypeFunction(
        node, present ? builder_.query.operands[slot->first].type.dtype : TypeOfAttribute(builder_.Attribute(name)),
        arguments);
  }
  if (node.text == "known") {
    return ExpressionValue(int64_t{present && builder_.query.operands[slot->first].known() != nullptr});
  }
  if (!present) return ErrorAt(node, StrCat("operand ", Quote(name), " is absent"));
  return OfOperand(node, slot, arguments);
}

Result<ExpressionValue> InstanceScope::OfOperand(const Expression& node, const ParameterSlot* slot,
                                                 std::span<const ExpressionValue> arguments) const {
  const OperandInfo& operand = builder_.query.operands[slot->first];
  const std::string& name = node.arguments[0].text;
  if (node.text == "rank") return ExpressionValue(int64_t{operand.type.rank()});
  if (node.text == "bits") return ExpressionValue(int64_t{DTypeBits(operand.type.dtype)});
  SBP_ASSIGN_OR_RETURN(int64_t index, IntArgument(node, arguments, 0, 0));
  if (node.text == "dim") {
    int64_t rank = operand.type.rank();
    if (index < 0) index += rank;
    if (index < 0 || index >= rank) {
      return ErrorAt(node, StrCat(Quote(name), " has rank ", rank, ": no dimension ", index));
    }
    return ExpressionValue(operand.type.shape[index]);
  }
  const Literal* literal = operand.known();
  if (literal == nullptr) return ErrorAt(node, StrCat("the value of ", Quote(name), " ", kMustBeKnown, ", and is not"));
  const int64_t entries = static_cast<int64_t>(literal->ints.size() + literal->floats.size());
  if (index < 0 || index >= entries) return ErrorAt(node, StrCat(Quote(name), " has ", entries, " entries"));
  if (!literal->ints.empty()) return ExpressionValue(literal->ints[index]);
  return ExpressionValue(literal->floats[index]);
}

Result<ExpressionValue> InstanceScope::OfAttribute(const Expression& node,
                                                   std::span<const ExpressionValue> arguments) const {
  const AttributeValue* value = builder_.Attribute(node.arguments[0].text);
  const auto* ints = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  const auto* floats = value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
  const int64_t size = ints != nullptr ? ints->size() : floats != nullptr ? floats->size() : 0;
  if (node.text == "len") return ExpressionValue(size);
  SBP_ASSIGN_OR_RETURN(int64_t index, IntArgument(node, arguments, 0, 0));
  if (index < 0) index += size;
  if (index >= 0 && index < size)
    return ints != nullptr ? ExpressionValue((*ints)[index]) : ExpressionValue((*floats)[index]);
  if (arguments.size() > 1) return arguments[1];
  return ErrorAt(node, StrCat("attribute ", Quote(node.arguments[0].text), " has ", size, " entries"));
}

}  // namespace sbp
