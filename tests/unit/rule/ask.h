// Asks rules given as text about one op: what every test of the engine starts with.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "rule/candidates.h"
#include "rule/rule_set.h"
#include "sbp/shard_math.h"

namespace sbp::testing {

struct Question {
  std::string op;
  std::vector<std::string> operands;  // "f32[2,3]"; "" is absent
  std::vector<std::pair<std::string, AttributeValue>> attributes = {};
  std::vector<bool> wanted = {true};
  std::vector<TensorType> stated = {};
  bool strict = false;
  std::vector<LiteralRef> values = {};
};

inline Result<RuleInstanceRef> Ask(const RuleSet& rules, const Question& question) {
  Attributes attributes;
  for (const auto& [name, value] : question.attributes) attributes.Set(name, value);
  OpQuery query{.type = question.op, .attributes = &attributes, .wanted = question.wanted, .stated = question.stated};
  query.strict_attributes = question.strict;
  for (size_t i = 0; i < question.operands.size(); ++i) {
    OperandInfo& operand = query.operands.emplace_back();
    operand.present = !question.operands[i].empty();
    if (operand.present) {
      SBP_ASSIGN_OR_RETURN(operand.type, ParseTensorType(question.operands[i]));
    }
    if (i < question.values.size()) operand.value = question.values[i].get();
  }
  return rules.Instantiate(query);
}

inline Result<RuleInstanceRef> Ask(const std::string& rules_text, const Question& question) {
  RuleSet rules;
  SBP_RETURN_IF_ERROR(rules.Add(rules_text, "test.rules"));
  return Ask(rules, question);
}

// One signature a line.
inline std::string Lines(const CandidateList& list) {
  std::string text;
  for (const Candidate& candidate : list.candidates) text += ToString(candidate.signature) + "\n";
  return text;
}

inline std::string CandidatesOf(const std::string& rules_text, const Question& question, const std::string& mesh_text,
                                CandidateOptions options = {}) {
  Result<RuleInstanceRef> instance = Ask(rules_text, question);
  if (!instance.ok()) return "error: " + instance.status().message();
  Result<Mesh> mesh = ParseMesh(mesh_text);
  if (!mesh.ok()) return "error: " + mesh.status().message();
  return Lines(MakeCandidates(*instance, *mesh, options));
}

}  // namespace sbp::testing
