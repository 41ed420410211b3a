// Samples: what repeated steps of plans say of single ops and collectives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/run/run_report.h"

namespace sbp {

// Where samples of several runs gather. Samples of one key are told apart no further: of ops their mean counts
// (Measured::mean), of collectives their median.
class Samples {
 public:
  // Takes the tasks of a run of `plan`. Of a model's plans collectives of other runs than the curves' stand alone
  // (CollectiveSample): the same ones will be asked for. Those of calibration's own cases count for the nearest curve.
  // Errors: the plan's ops do not fit the rules (kDefect).
  Status Add(const Plan& plan, const RuleSet& rules, const RunReport& report, bool of_model = false);

  // Sorted as clusters want them.
  std::vector<OpSample> Ops(const std::string& source) const;
  std::vector<CollectiveSample> Collectives(const std::string& source) const;

 private:
  Status AddOp(const Plan& plan, const RuleSet& rules, const TaskReport& task);
  // What ops with neighbours' elements take longer than the same work without.
  void AddHalos(const std::string& source, std::vector<CollectiveSample>& samples) const;

  using OpKey = std::tuple<std::string, DType, double, double>;  // flops, bytes
  struct OpTimes {
    std::vector<double> seconds;
    double workspace_bytes = 0;  // the most
  };
  std::map<OpKey, OpTimes> ops_;
  std::map<std::tuple<GroupShape, double, OpKey>, std::vector<double>> halos_;  // bytes of neighbours
  // Kind, nodes, ranks per node, alone, runs, T.
  std::map<std::tuple<CollectiveKind, int64_t, int64_t, bool, double, double>, std::vector<double>> collectives_;
};

}  // namespace sbp
