// rules verify: proves the candidates of rules by execution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/output.h"
#include "rule/rule_set.h"

namespace sbp {

struct VerifyFlags {
  bool vjp = false;                    // derivatives in place of layouts
  std::vector<std::string> ops;        // empty: all
  std::vector<std::string> instances;  // further ones: rows as in rules/instances.txt
  uint64_t seed = 0;
  int threads = 0;
};

// Prints the report. kMismatch: some rule is wrong.
Status VerifyAndReport(const RuleSet& rules, const VerifyFlags& flags, const OutputFlags& output);

}  // namespace sbp
