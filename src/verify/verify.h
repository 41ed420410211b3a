// Verification of rules by execution: every candidate signature of every rule, on small op instances and meshes of 2,
// 3, 4 and 2x2 devices, is run part by part and compared with the unsharded op; and every result that the rule lets lie
// where an operand does is computed there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "rule/rule_set.h"
#include "verify/op_instance.h"

namespace sbp {

struct VerifyOptions {
  std::vector<std::string> ops;                             // empty: all
  std::vector<OpInstance> instances;                        // further ones; of user's ops, or more of the built-in ones
  uint64_t seed = 0;                                        // of the data
  int threads = 0;                                          // 0: one per core. The report does not depend on it
  std::function<void(size_t done, size_t total)> progress;  // in ops; from any thread. May be null
  std::function<bool()> cancelled;                          // asked before each op: stop? May be null
};

struct VerifyFinding {
  std::string op;
  std::string instance;   // a row as in rules/instances.txt; "": all of the op
  std::string mesh;       // "": of no one mesh
  std::string signature;  // ""
  std::string reason;     // what differs; why the rule does not offer it, where it says; why it is skipped
  int64_t count = 1;      // candidates that it stands for
  std::string inner;      // "", or an op of the derivative's graph that it is about, as such a row
};

struct VerifiedOp {
  std::string op;
  int64_t instances = 0, candidates = 0;
  double worst_error = 0;  // of the right ones; as Execution::error
  int64_t failed = 0, missing = 0, skipped = 0;
};

struct VerifyReport {
  std::vector<VerifiedOp> ops;  // by name; those with at least one candidate executed
  int64_t candidates = 0;       // executed
  // failed: candidates that compute something else, or nothing. missing: signatures that execute right and are not
  // offered (see missing.h). skipped: what is not executed.
  std::vector<VerifyFinding> failed, missing, skipped;
};

// The ops asked for and their instances, ours and the further ones. Error (kBadInput): an op that the rules do not
// know, with the nearest.
Result<std::map<std::string, std::vector<OpInstance>>> InstancesByOp(const RuleSet& rules,
                                                                     const VerifyOptions& options);

// Error (kBadInput): as InstancesByOp.
Result<VerifyReport> VerifyRules(const RuleSet& rules, const VerifyOptions& options);

}  // namespace sbp
