// Training: a plan's steps one after the other, and checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/run.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/backends/backend.h"
#include "runtime/run/plan_run.h"

namespace sbp {

// The flags of `run --steps`.
struct StepsRequest {
  int64_t steps = 1;
  std::optional<double> lr;  // kDefaultRate
  std::string save, load;    // checkpoints; "": none
  int64_t save_every = 0;    // 0: after the last step only
};

// A checkpoint: an .npz archive of the states (inputs and parameters that ties replace), whole, whatever the plan, by
// their names; and "checkpoint/step", how many steps were made, and "checkpoint/seed". Written to another file and
// renamed, so that a run that is killed leaves the one before.
struct Checkpoint {
  int64_t steps = 0;
  uint64_t seed = 0;
  std::vector<TensorData> states;
};
// Error (kBadInput): no such file, cut off or no checkpoint; states of another model, the first that differ named.
Result<Checkpoint> ReadCheckpoint(const std::string& path, const Graph& graph);
// The archive's bytes for states as they lie there. Errors name the entry. For ReadCheckpoint and its tests.
Result<Checkpoint> ParseCheckpoint(std::string_view bytes, std::string_view where, const Graph& graph);

// RunPlan, `request.steps` times, each step with what the one before left. Inputs with one dimension more than the
// graph's are batches: step i takes those from i * micro-batches on, and begins anew at their end. Every step is
// compared with the same step unsharded, unless options say no. Errors besides RunPlan's: a checkpoint that does not
// fit, batches of different numbers, a rate for a graph that has none.
Result<PlanRun> TrainPlan(Plan plan, const RuleSet& rules, const std::string& model_path, RunData data,
                          Backend& backend, const RunOptions& options, const StepsRequest& request);

}  // namespace sbp
