#include "unit/rules/op_call.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "base/text.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

// The commas that stand in no bracket or string part the text.
std::vector<std::string> SplitOutside(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  bool quoted = false;
  std::string part;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth == 0 && !quoted) {
      parts.emplace_back(Trim(part));
      part.clear();
    } else {
      part.push_back(c);
    }
  }
  if (!Trim(part).empty()) parts.emplace_back(Trim(part));
  return parts;
}

std::vector<std::string_view> Items(std::string_view inner) {
  return Trim(inner).empty() ? std::vector<std::string_view>{} : Split(inner, ',');
}

AttributeValue ParseAttribute(std::string_view text) {
  if (text.front() == '"') return std::string(text.substr(1, text.size() - 2));
  if (text.front() == '[') {
    std::vector<int64_t> values;
    for (std::string_view item : Items(text.substr(1, text.size() - 2))) values.push_back(ParseInt(Trim(item)).value());
    return values;
  }
  if (const auto value = ParseInt(text)) return *value;
  return ParseDouble(text).value();
}

LiteralRef ParseValues(const TensorType& type, std::string_view inner) {
  auto literal = std::make_shared<Literal>();
  literal->type = type;
  for (std::string_view item : Items(inner)) {
    if (IsFloat(type.dtype)) {
      literal->floats.push_back(ParseDouble(Trim(item)).value());
    } else {
      literal->ints.push_back(ParseInt(Trim(item)).value());
    }
  }
  return literal;
}

}  // namespace

const RuleSet& BuiltinRules() {
  static const RuleSet* rules = [] {
    Result<RuleSet> built = RuleSet::Builtin();
    if (!built.ok()) {
      std::cerr << built.status().message() << "\n";
      std::abort();
    }
    return new RuleSet(std::move(built).value());
  }();
  return *rules;
}

Result<RuleInstanceRef> AskOp(std::string_view call, size_t results) {
  const size_t open = call.find('(');
  const std::string_view inner = call.substr(open + 1, call.rfind(')') - open - 1);
  OpQuery query;
  query.type = Trim(call.substr(0, open));
  query.wanted.assign(results, true);
  query.strict_attributes = true;
  Attributes attributes;
  std::vector<LiteralRef> literals;
  for (const std::string& part : SplitOutside(inner)) {
    OperandInfo operand;
    const size_t equals = part.find('=');
    if (equals != std::string::npos && equals < part.find('[')) {
      attributes.Set(part.substr(0, equals), ParseAttribute(std::string_view(part).substr(equals + 1)));
      continue;
    }
    if (part != "-") {
      const size_t brace = part.find('{');
      SBP_ASSIGN_OR_RETURN(operand.type, ParseTensorType(std::string_view(part).substr(0, brace)));
      operand.present = true;
      if (brace != std::string::npos) {
        literals.push_back(
            ParseValues(operand.type, std::string_view(part).substr(brace + 1, part.size() - brace - 2)));
        operand.value = literals.back().get();
      }
    }
    query.operands.push_back(operand);
  }
  query.attributes = &attributes;
  return BuiltinRules().Instantiate(query);
}

std::string ResultTypes(const RuleInstance& instance) {
  std::vector<std::string> types;
  for (const TensorType& type : instance.results) {
    types.push_back(type.dtype == DType::kUndefined ? "-" : ToString(type));
  }
  return Join(types, ", ");
}

std::string CandidatesOnTwo(const RuleInstanceRef& instance) {
  const Mesh mesh = ParseMesh("x=2").value();
  const CandidateList list = MakeCandidates(instance, mesh);
  std::vector<std::string> texts;
  for (size_t i = 0; i + 1 < list.candidates.size(); ++i) texts.push_back(ToString(list.candidates[i].signature));
  return Join(texts, " | ");
}

void ExpectRows(const std::vector<OpRow>& rows) {
  for (const OpRow& row : rows) {
    SCOPED_TRACE(row.call);
    const Result<RuleInstanceRef> instance = AskOp(row.call, row.results);
    if (!instance.ok()) {
      ADD_FAILURE() << instance.status().message();
      continue;
    }
    EXPECT_EQ(ResultTypes(**instance), row.types);
    EXPECT_EQ(CandidatesOnTwo(*instance), row.candidates);
  }
}

}  // namespace sbp
