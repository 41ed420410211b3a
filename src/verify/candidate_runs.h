// Every candidate of one op instance on one mesh, executed and compared with the unsharded op.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "verify/execute.h"

namespace sbp {

struct CandidateRuns {
  int64_t executed = 0;
  double worst_error = 0;                                  // of the right ones; as Execution::error
  std::vector<std::pair<std::string, std::string>> wrong;  // signature, and what differs
  std::vector<std::string> not_run;                        // why, one per candidate
};

// In the order of MakeCandidates. `rules` are those of the runner.
CandidateRuns RunCandidates(const InstanceRunner& runner, const RuleSet& rules, const Mesh& mesh,
                            std::mt19937_64& random);

}  // namespace sbp
