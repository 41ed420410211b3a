// Samples: what repeated steps of plans say of single ops and collectives.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "cluster/cluster.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/run_report.h"

namespace sbp {

// Where samples of several runs gather. Samples of one key are told apart no further: their median counts.
class Samples {
 public:
  // Takes the tasks of a run of `plan`. Errors: the plan's ops do not fit the rules (kDefect).
  Status Add(const Plan& plan, const RuleSet& rules, const RunReport& report);

  // Sorted as clusters want them.
  std::vector<OpSample> Ops(const std::string& source) const;
  std::vector<CollectiveSample> Collectives(const std::string& source) const;

 private:
  Status AddOp(const Plan& plan, const RuleSet& rules, const TaskReport& task);

  struct OpTimes {
    std::vector<double> seconds;
    double workspace_bytes = 0;  // the most
  };
  std::map<std::tuple<std::string, DType, double, double>, OpTimes> ops_;                            // flops, bytes
  std::map<std::tuple<CollectiveKind, int64_t, int64_t, double>, std::vector<double>> collectives_;  // T
};

}  // namespace sbp
