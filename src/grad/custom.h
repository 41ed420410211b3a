// Which ops are differentiated by their own vjp, and which through their expansions.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "rule/rule_set.h"

namespace sbp {

// Of --custom-vjp: "all" (or ""), "none", or the types of ops that keep theirs, separated by commas: what ExpandForVjp
// takes as `expanded`. Errors (kBadInput): an op that is not known, with the nearest name; one without a vjp, or
// without an expansion, of which there is nothing to choose.
Result<std::vector<std::string>> ExpandedOps(const std::string& custom, const RuleSet& rules);

}  // namespace sbp
