#include "unit/rule/builtin_case.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/text.h"
#include "rule/candidates.h"

namespace sbp {
namespace {

std::vector<std::string> Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Literal ReadLiteral(const TensorType& type, std::string_view text) {
  Literal literal;
  literal.type = type;
  for (const std::string& word : Words(text)) {
    if (IsFloat(type.dtype)) {
      literal.floats.push_back(ParseDouble(word).value());
    } else {
      literal.ints.push_back(ParseInt(word).value());
    }
  }
  return literal;
}

AttributeValue ReadAttribute(const std::string& text) {
  if (text.front() == '[') {
    std::vector<int64_t> list;
    for (std::string_view part : Split(std::string_view(text).substr(1, text.size() - 2), ',')) {
      if (!part.empty()) list.push_back(ParseInt(part).value());
    }
    return list;
  }
  if (const auto i = ParseInt(text)) return *i;
  if (const auto d = ParseDouble(text)) return *d;
  return text;
}

std::string AskOrError(const BuiltinCase& question) {
  std::vector<Literal> literals(question.operands.size());
  Attributes attributes;
  for (const std::string& word : Words(question.attributes)) {
    const size_t equals = word.find('=');
    attributes.Set(word.substr(0, equals), ReadAttribute(word.substr(equals + 1)));
  }
  OpQuery query;
  query.type = question.op;
  query.attributes = &attributes;
  query.wanted.assign(question.results, true);
  for (size_t i = 0; i < question.operands.size(); ++i) {
    const std::string& text = question.operands[i];
    OperandInfo info;
    if (text != "-") {
      const size_t equals = text.find('=');
      Result<TensorType> type = ParseTensorType(Trim(std::string_view(text).substr(0, equals)));
      if (!type.ok()) return type.status().message();
      info.present = true;
      info.type = *type;
      if (equals != std::string::npos) {
        literals[i] = ReadLiteral(*type, std::string_view(text).substr(equals + 1));
        info.value = &literals[i];
      }
    }
    query.operands.push_back(info);
  }
  Result<RuleInstanceRef> instance = BuiltinRules().Instantiate(query);
  if (!instance.ok()) return instance.status().message();
  std::vector<std::string> types, candidates;
  for (const TensorType& type : (*instance)->results) types.push_back(ToString(type));
  const Mesh mesh{{{"x", 2}}, {}};
  for (const Candidate& candidate : MakeCandidates(*instance, mesh).candidates) {
    candidates.push_back(ToString(candidate.signature));
  }
  candidates.pop_back();
  return Join(types, ", ") + " | " + Join(candidates, "; ");
}

}  // namespace

const RuleSet& BuiltinRules() {
  static const RuleSet* const rules = [] {
    Result<RuleSet> result = RuleSet::Builtin();
    if (!result.ok()) ADD_FAILURE() << result.status().message();
    return new RuleSet(result.ok() ? std::move(result).value() : RuleSet());
  }();
  return *rules;
}

std::string Ask(const BuiltinCase& question) { return AskOrError(question); }

void ExpectAll(const std::vector<BuiltinCase>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(Ask(cases[i]), cases[i].expected)
        << "row " << i << ": " << cases[i].op << "(" << Join(cases[i].operands, ", ") << ") " << cases[i].attributes;
  }
}

}  // namespace sbp
