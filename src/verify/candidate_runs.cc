#include "verify/candidate_runs.h"

#include <algorithm>

#include "rule/candidates.h"
#include "runtime/execute/local_program.h"
#include "sbp/signature.h"

namespace sbp {

CandidateRuns RunCandidates(const InstanceRunner& runner, const RuleSet& rules, const Mesh& mesh,
                            std::mt19937_64& random) {
  CandidateRuns runs;
  LocalCompiler compiler(rules, mesh);
  for (const Candidate& candidate : MakeCandidates(runner.rule(), mesh).candidates) {
    const Execution execution = runner.Run(candidate, mesh, compiler, random);
    if (execution.outcome == Execution::Outcome::kNotRun) {
      runs.not_run.push_back(execution.what);
      continue;
    }
    ++runs.executed;
    if (execution.outcome == Execution::Outcome::kRight) {
      runs.worst_error = std::max(runs.worst_error, execution.error);
    } else {
      runs.wrong.emplace_back(ToString(candidate.signature), execution.what);
    }
  }
  return runs;
}

}  // namespace sbp
