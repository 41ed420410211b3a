#include "verify/op_instance.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/dtype.h"
#include "base/text.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

std::optional<std::vector<double>> ParseNumbers(std::string_view text) {
  std::vector<double> values;
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return std::nullopt;
    text = Trim(text.substr(1, text.size() - 2));
    if (text.empty()) return values;
  }
  for (const std::string_view part : Split(text, ',')) {
    const auto value = ParseDouble(Trim(part));
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// "[1,2]", "3", "[0.5,2]:f32".
Result<LiteralRef> ParseKnown(std::string_view text) {
  DType dtype = DType::kI64;
  std::string_view list = text;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    const auto named = ParseDType(text.substr(colon + 1));
    if (!named) return BadInput(StrCat("no element type ", Quote(text.substr(colon + 1))));
    dtype = *named;
    list = text.substr(0, colon);
  }
  const auto values = ParseNumbers(list);
  if (!values) return BadInput(StrCat("expected values such as [1,2], found ", Quote(list)));
  Literal literal;
  literal.type = {dtype, list.starts_with('[') ? Shape{static_cast<int64_t>(values->size())} : Shape{}};
  if (IsFloat(dtype)) {
    literal.floats = *values;
  } else {
    literal.ints.assign(values->begin(), values->end());
  }
  return std::make_shared<const Literal>(std::move(literal));
}

Result<InstanceOperand> ParseOperand(std::string_view word) {
  InstanceOperand operand;
  if (word == "-") {
    operand.present = false;
    return operand;
  }
  if (word.starts_with('=')) {
    SBP_ASSIGN_OR_RETURN(operand.value, ParseKnown(word.substr(1)));
    operand.type = operand.value->type;
    return operand;
  }
  const size_t mark = word.find_first_of("@<=");
  SBP_ASSIGN_OR_RETURN(operand.type, ParseTensorType(word.substr(0, mark)));
  if (!operand.type.is_static()) return BadInput(StrCat(Quote(word), ": every dimension must be a number"));
  if (mark == std::string_view::npos) return operand;
  const std::string_view rest = word.substr(mark + 1);
  if (word[mark] == '=') {
    const auto values = ParseNumbers(rest);
    if (!values || static_cast<int64_t>(values->size()) != operand.type.num_elements()) {
      return BadInput(StrCat(Quote(word), ": expected ", operand.type.num_elements(), " values"));
    }
    operand.data = *values;
  } else if (word[mark] == '<') {
    const auto bound = ParseInt(rest);
    if (!bound || *bound <= 0) return BadInput(StrCat(Quote(word), ": expected a number above 0 after '<'"));
    operand.bound = *bound;
  } else {
    const size_t dots = rest.find("..");
    const auto low = ParseDouble(rest.substr(0, dots));
    const auto high = dots == std::string_view::npos ? low : ParseDouble(rest.substr(dots + 2));
    if (!low || !high || *high < *low) return BadInput(StrCat(Quote(word), ": expected '@LOW..HIGH'"));
    operand.low = *low;
    operand.high = *high;
  }
  return operand;
}

AttributeValue ParseAttribute(std::string_view text) {
  if (text.starts_with('[')) {
    if (const auto values = ParseNumbers(text)) {
      if (text.find('.') != std::string_view::npos) return *values;
      return std::vector<int64_t>(values->begin(), values->end());
    }
    std::vector<std::string> words;
    for (const std::string_view part : Split(text.substr(1, text.size() - 2), ',')) words.emplace_back(Trim(part));
    return words;
  }
  if (const auto v = ParseInt(text)) return *v;
  if (const auto v = ParseDouble(text)) return *v;
  return std::string(text);
}

std::string NumberText(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double v : values) texts.push_back(FormatDouble(v));
  return StrCat("[", Join(texts, ","), "]");
}

std::string OperandText(const InstanceOperand& operand) {
  if (!operand.present) return "-";
  if (operand.value != nullptr) {
    const Literal& literal = *operand.value;
    std::vector<double> values = literal.floats;
    if (literal.is_integral()) values.assign(literal.ints.begin(), literal.ints.end());
    const std::string list = literal.type.shape.empty() ? FormatDouble(values[0]) : NumberText(values);
    return StrCat("=", list, literal.type.dtype == DType::kI64 ? "" : StrCat(":", DTypeName(literal.type.dtype)));
  }
  const std::string type = ToString(operand.type);
  if (!operand.data.empty()) return StrCat(type, "=", NumberText(operand.data));
  if (operand.bound > 0) return StrCat(type, "<", operand.bound);
  if (operand.low == -2 && operand.high == 2) return type;
  return StrCat(type, "@", FormatDouble(operand.low), "..", FormatDouble(operand.high));
}

std::string AttributeText(const AttributeValue& value) {
  const auto point = [](double v) {
    const std::string text = FormatDouble(v);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  };
  if (const auto* v = std::get_if<double>(&value)) return point(*v);
  if (const auto* v = std::get_if<std::string>(&value)) return *v;
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) return StrCat("[", Join(*v, ","), "]");
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return StrCat("[", Join(*v, ","), "]");
  if (const auto* v = std::get_if<std::vector<double>>(&value)) {
    std::vector<std::string> texts;
    for (const double number : *v) texts.push_back(point(number));
    return StrCat("[", Join(texts, ","), "]");
  }
  return ToString(value);
}

}  // namespace

OpQuery OpInstance::Query() const {
  OpQuery query;
  query.type = op;
  query.attributes = attributes.get();
  query.wanted = Wanted();
  query.strict_attributes = true;
  for (const InstanceOperand& o : operands) query.operands.push_back({o.present, o.type, o.value.get()});
  return query;
}

Result<OpInstance> ParseInstance(std::string_view line) {
  OpInstance instance;
  instance.text = std::string(Trim(line));
  Attributes attributes;
  bool results = false;
  for (const std::string_view word : Split(instance.text, ' ')) {
    if (word.empty()) continue;
    const size_t equal = word.find('=');
    if (instance.op.empty()) {
      instance.op = std::string(word);
    } else if (results) {
      const auto count = ParseInt(word);
      if (!count || *count < 1 || *count > 64) return BadInput(StrCat("no number of results: ", Quote(word)));
      instance.results = static_cast<size_t>(*count);
    } else if (word == "->") {
      results = true;
    } else if (equal != std::string_view::npos && equal > 0 && word.find('[') > equal) {
      attributes.Set(std::string(word.substr(0, equal)), ParseAttribute(word.substr(equal + 1)));
    } else {
      SBP_ASSIGN_OR_RETURN(InstanceOperand operand, ParseOperand(word));
      instance.operands.push_back(std::move(operand));
    }
  }
  if (instance.op.empty()) return BadInput("no op");
  instance.attributes = std::make_shared<const Attributes>(std::move(attributes));
  return instance;
}

Result<std::vector<OpInstance>> ParseInstances(std::string_view text, std::string_view file) {
  std::vector<OpInstance> instances;
  int number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const std::string_view row = Trim(line.substr(0, line.find('#')));
    if (row.empty()) continue;
    auto instance = ParseInstance(row);
    if (!instance.ok()) return instance.status().WithContext(StrCat(file, ":", number));
    instance->line = number;
    instances.push_back(*std::move(instance));
  }
  return instances;
}

std::string ToString(const OpInstance& instance) {
  std::string text = instance.op;
  for (const InstanceOperand& operand : instance.operands) text += " " + OperandText(operand);
  for (const auto& [name, value] : instance.attributes->entries()) text += StrCat(" ", name, "=", AttributeText(value));
  if (instance.results != 1) text += StrCat(" -> ", instance.results);
  return text;
}

}  // namespace sbp
