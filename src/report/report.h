// Reports: structured facts of a plan, printed as text or JSON. Nothing here decides anything.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"

namespace sbp {

// The human summary that `infer` prints: step time split into compute and collectives, collectives by kind, the five
// dearest with their reasons, peak memory split and its largest holders, replicated tensors, warnings.
struct SummaryOptions {
  Notation notation = Notation::kSbp;
  size_t dearest = 5;
};
std::string FormatSummary(const Plan& plan, const SummaryOptions& options = {});
// interfaces.md, row `infer`. `timings`: stage -> seconds.
std::string SummaryJson(const Plan& plan, const std::map<std::string, double>& timings);

// diff: by meaning.
struct Difference {
  std::string where, what, expected, found;  // expected: the first plan's
};
struct DiffOptions {
  double tolerance = 0;  // relative, for seconds and bytes
};
std::vector<Difference> DiffPlans(const Plan& a, const Plan& b, const DiffOptions& options);
std::string FormatDifferences(const std::vector<Difference>& differences, size_t limit = 40);
std::string DifferencesJson(const std::vector<Difference>& differences);

}  // namespace sbp
