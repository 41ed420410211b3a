#include "runtime/run/judge.h"

#include <algorithm>

#include "runtime/run/compare.h"

namespace sbp {

void CompareCopies(const std::vector<Value>& copies, const Value& reference, TensorReport& report) {
  for (const Value& copy : copies) {
    const Result<Difference> difference = Compare(copy, reference);
    if (!difference.ok()) {
      report.problem = difference.status().message();
      return;
    }
    if (!report.compared || difference->relative_error > report.difference.relative_error) {
      report.difference = *difference;
    }
    report.compared = true;
  }
}

Status Rounding::Allow(const std::string& name, const Value& reference, const Value& exact, TensorReport& report) {
  // Over the norm of the reference, as the error is: that of an exact value which is 0 but for f64's own rounding would
  // allow anything.
  SBP_ASSIGN_OR_RETURN(const Difference rounding, Compare(exact, reference));
  double& most = most_[name];
  most = std::max(most, rounding.relative_error);
  report.allowed = kRoundings * most;
  return OkStatus();
}

}  // namespace sbp
