// Running a plan step after step: what a step leaves in its ties is what the next one begins with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/backends/backend.h"
#include "runtime/data/value.h"
#include "runtime/run/judge.h"
#include "runtime/run/plan_run.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

struct TrainingOptions {
  int64_t first = 0, steps = 1;  // steps done before this run; how many it makes
  int64_t save_every = 0;        // 0: after the last step only
  // Inputs that are no state, of a step and a micro-batch in it, both from 0 on: what every store is given before it.
  // What is not in the list stays as it is.
  std::function<std::vector<TensorData>(int64_t step, int64_t micro_batch)> feed;
  // After a step whose states are to be kept, where the backend leads: whole tensors by the names of the inputs and
  // parameters that they will be. Null: nothing is kept.
  std::function<Status(int64_t steps_done, const std::vector<std::pair<std::string, Value>>& states)> save;
  Twin reference;  // compared with after every step, with states of its own
  Twin exact;      // the same in f64: what is rounding (Rounding)
};

// The states: inputs and parameters that a tie replaces from step to step. Those that restart are none.
std::vector<TensorId> StatesOf(const Graph& graph);

// Called by all processes; one that does not lead gets an empty result. Random inputs are drawn by micro-batch, the
// same in each step. Every tie's output must be an output of the graph (kBadInput). A loss that is NaN or infinite ends
// the run (kRunFailed) with the step and the first task that made one.
Result<PlanRun> RunTraining(const Plan& plan, const RuleSet& rules, TensorStore& store, Backend& backend,
                            const PlanRunOptions& options, const TrainingOptions& training);

}  // namespace sbp
