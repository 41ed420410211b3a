#include "support/rule_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/text.h"

namespace sbp::reference {
namespace {

// "[1,2]" or "3".
std::vector<double> NumberList(std::string_view text) {
  std::vector<double> values;
  if (text[0] == '[') text = text.substr(1, text.size() - 2);
  if (Trim(text).empty()) return values;
  for (const std::string_view part : Split(text, ',')) values.push_back(*ParseDouble(Trim(part)));
  return values;
}
std::vector<int64_t> IntList(std::string_view text) {
  const std::vector<double> values = NumberList(text);
  return {values.begin(), values.end()};
}

// "=[1,2]", "=3", "=[0.5,2]:f32".
LiteralRef ParseKnown(std::string word) {
  DType type = DType::kI64;
  if (const size_t colon = word.find(':'); colon != std::string::npos) {
    type = ParseTensorType(word.substr(colon + 1) + "[]")->dtype;
    word.resize(colon);
  }
  const std::vector<double> values = NumberList(word.substr(1));
  Literal literal;
  literal.type = {type, word[1] == '[' ? Shape{static_cast<int64_t>(values.size())} : Shape{}};
  if (IsFloat(type))
    literal.floats = values;
  else
    literal.ints.assign(values.begin(), values.end());
  return std::make_shared<const Literal>(std::move(literal));
}

RuleCase::Operand ParseOperand(std::string word) {
  RuleCase::Operand operand;
  if (word == "-") {
    operand.present = false;
    return operand;
  }
  if (word[0] == '=') {
    operand.value = ParseKnown(word);
    operand.type = operand.value->type;
    return operand;
  }
  if (const size_t at = word.find('@'); at != std::string::npos) {
    const size_t dots = word.find("..", at);
    operand.domain = {*ParseDouble(word.substr(at + 1, dots - at - 1)), *ParseDouble(word.substr(dots + 2))};
    word.resize(at);
  } else if (const size_t less = word.find('<'); less != std::string::npos) {
    operand.bound = *ParseInt(word.substr(less + 1));
    word.resize(less);
  } else if (const size_t equal = word.find('='); equal != std::string::npos) {
    operand.data = NumberList(word.substr(equal + 1));
    word.resize(equal);
  }
  const auto type = ParseTensorType(word);
  EXPECT_TRUE(type.ok()) << word;
  if (type.ok()) operand.type = *type;
  return operand;
}

AttributeValue ParseValue(const std::string& text) {
  if (text[0] == '[' && text.size() > 1 && std::isalpha(static_cast<unsigned char>(text[1])) != 0) {
    std::vector<std::string> words;
    for (const std::string_view part : Split(std::string_view(text).substr(1, text.size() - 2), ',')) {
      words.emplace_back(Trim(part));
    }
    return words;
  }
  if (text[0] == '[' && text.find('.') != std::string::npos) return NumberList(text);
  if (text[0] == '[') return IntList(text);
  if (const auto v = ParseInt(text)) return *v;
  if (const auto v = ParseDouble(text)) return *v;
  return text;
}

}  // namespace

std::vector<RuleCase> ReadRuleCases(const std::string& path) {
  std::ifstream file(path);
  std::vector<RuleCase> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    RuleCase c;
    c.line = number;
    c.text = line;
    if (!(words >> c.op)) continue;
    for (std::string word; words >> word;) {
      const size_t equal = word.find('=');
      if (word == "->") {
        words >> c.results;
      } else if (equal != std::string::npos && equal > 0 && word.find('[') > equal) {
        c.attributes.Set(word.substr(0, equal), ParseValue(word.substr(equal + 1)));
      } else {
        c.operands.push_back(ParseOperand(word));
      }
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

Array MakeData(const RuleCase::Operand& operand, std::mt19937_64& random) {
  Array a(operand.type.dtype, operand.type.shape);
  if (operand.value) {
    a.values.assign(operand.value->ints.begin(), operand.value->ints.end());
    if (a.values.empty()) a.values = operand.value->floats;
    return a;
  }
  if (!operand.data.empty()) {
    a.values = operand.data;
    return a;
  }
  for (double& v : a.values) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    if (operand.bound > 0)
      v = static_cast<double>(random() % operand.bound);
    else if (a.dtype == DType::kBool)
      v = static_cast<double>(random() % 2);
    else if (IsFloat(a.dtype))
      v = operand.domain.low + (operand.domain.high - operand.domain.low) * u;
    else
      v = static_cast<double>(random() % 9) - 4;
  }
  return a;
}

OpQuery QueryOf(const RuleCase& c) {
  OpQuery query;
  query.type = c.op;
  query.attributes = &c.attributes;
  query.wanted.assign(c.results, true);
  query.strict_attributes = true;
  for (const auto& o : c.operands) query.operands.push_back({o.present, o.type, o.value.get()});
  return query;
}

Call WholeCall(const RuleCase& c, const RuleInstance& instance, const std::vector<Array>& whole) {
  Call call;
  call.attributes = &c.attributes;
  for (size_t i = 0; i < whole.size(); ++i) {
    call.inputs.push_back(c.operands[i].present ? &whole[i] : nullptr);
    call.input_pieces.push_back(WholePiece(whole[i].shape));
  }
  for (const TensorType& type : instance.results) {
    call.result_types.push_back(type.dtype);
    call.result_pieces.push_back(WholePiece(type.shape));
  }
  return call;
}

std::vector<Array> Compute(Kernel kernel, const Call& call) {
  std::vector<Array> results = kernel(call);
  for (Array& result : results) {
    if (!IsInteger(result.dtype)) continue;
    for (double& v : result.values) v = std::trunc(v);
  }
  return results;
}

HaloWidths HaloOf(const FactorMap& map, const Candidate& candidate, size_t operand, HaloTrim trim) {
  HaloWidths widths;
  for (const DimFactors& dim : map.operands[operand]) {
    widths.emplace_back(0, 0);
    for (const AxisChoice& choice : candidate.axes) {
      const bool carried =
          choice.kind == AxisChoice::Kind::kFactor && std::find(dim.begin(), dim.end(), choice.index) != dim.end();
      if (!carried) continue;
      const std::optional<Factor::Halo>& halo = map.factors[choice.index].halo;
      if (!halo || !halo->AppliesTo(static_cast<int>(operand))) continue;
      widths.back() = {halo->low - trim.before, halo->high - trim.after};
    }
  }
  return widths;
}

}  // namespace sbp::reference
