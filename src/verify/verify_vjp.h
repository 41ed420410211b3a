// Verification of derivatives by execution: gradients of small op instances, computed in f64, against central
// differences; a vjp of an op that also has an expansion against the derivative of that; and all ops of the graphs that
// compute them, sharded in every way that their rules allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "rule/rule_set.h"
#include "verify/inner_ops.h"
#include "verify/verify.h"

namespace sbp {

struct VerifiedVjp {
  std::string op;
  int64_t instances = 0;
  int64_t entries = 0;        // elements of cotangents that were compared with central differences
  int64_t at_kinks = 0;       // that were not: differences of two widths disagree
  double worst_error = 0;     // |cotangent - difference| over the largest of the operand's cotangents, or 1
  bool by_expansion = false;  // no vjp of its own
};

struct VjpReport {
  std::vector<VerifiedVjp> ops;  // by name; those with an entry
  int64_t entries = 0;
  // failed: the entry that differs. skipped: ops whose floats reach floats and that have no derivative, and why.
  std::vector<VerifyFinding> failed, skipped;
  InnerReport inner;  // the ops of the derivatives' graphs, executed sharded
};

// Error (kBadInput): an op that the rules do not know, with the nearest.
Result<VjpReport> VerifyVjps(const RuleSet& rules, const VerifyOptions& options);

}  // namespace sbp
