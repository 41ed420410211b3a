// rules test: files of layouts and what rules make of them, forward and backward.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/output.h"
#include "rule/rule_set.h"

namespace sbp {

struct RulesTestFlags {
  std::vector<std::string> files;
  bool update = false;  // write what the rules say into the files
};

// The form of the files is in rules/README.md. Prints what differs by file:line:col, and how many pass. kMismatch: an
// expectation fails; kBadInput: a file that cannot be read.
Status TestRules(const RuleSet& rules, const RulesTestFlags& flags, const OutputFlags& output);

}  // namespace sbp
