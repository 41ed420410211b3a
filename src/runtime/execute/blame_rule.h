// A rule that a user wrote may be wrong for its op: its parts then do not fit the kernels, its expansion cannot be laid
// out, its shapes are others than the rule says. Such an end is the rule's fault, not a defect of ours.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "base/text.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {

// `status` (kDefect) as kBadInput that names the first of these op types that a user's rule defines, and where; as it
// is where there is none, or where it is no defect.
inline Status BlameUserRule(const Status& status, const RuleSet& rules, std::span<const std::string> op_types) {
  if (status.code() != Code::kDefect) return status;
  for (const std::string& type : op_types) {
    const OpDefinition* definition = rules.Find(type);
    if (definition == nullptr || definition->builtin || definition->overloads.empty()) continue;
    return BadInput(StrCat(status.message(), "; the rule of ", Quote(type), " at ",
                           ToString(definition->overloads.front().at), " does not fit what the op computes"));
  }
  return status;
}

}  // namespace sbp
