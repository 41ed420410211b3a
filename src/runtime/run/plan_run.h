// Running a whole plan, and the unsharded graph beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/backends/backend.h"
#include "runtime/data/value.h"
#include "runtime/run/judge.h"
#include "runtime/run/run_report.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

// A graph on one device, as it is.
struct UnshardedRun {
  std::vector<std::pair<std::string, Value>> outputs;  // in the graph's order
  std::map<std::string, Value> tensors;                // all that ops wrote, on request
  double seconds = 0;                                  // without making inputs and weights
  std::vector<double> repeats;                         // of the runs again, warm and unwatched
  std::string first_nan;                               // the first op that made a NaN from none; ""
};
struct UnshardedOptions {
  bool keep_tensors = false;
  uint32_t micro_batch = 0;
  uint64_t draw = 0;  // of random ops (OpRunner::set_draw)
  uint64_t seed = 0;
  uint32_t repeats = 0;             // run it so often again
  std::function<bool()> cancelled;  // asked between ops; true fails the run. May be null
};
Result<UnshardedRun> RunUnsharded(const Graph& graph, const RuleSet& rules, TensorStore& store,
                                  const UnshardedOptions& options = {});

struct PlanRunOptions {
  uint32_t micro_batches = 0;  // 0: as the plan's physical part says, else 1
  bool reference = true;       // run the unsharded graph too, and compare
  bool keep_tensors = false;   // compare every tensor
  uint32_t repeats = 0;        // run the step so often again, warm, and compare times: RunReport::comparison
  bool trace = false;          // make PlanRun::trace
  bool parts = false;          // make PlanRun::parts; outputs may hold NaN then
  uint64_t seed = 0;
  // What runs unsharded, with its values: outputs are matched by name. Null: the plan's own graph.
  const Graph* reference_graph = nullptr;
  TensorStore* reference_store = nullptr;
  // The same in f64, asked for once and only where something is above the tolerance: what of it is rounding (Rounding).
  // Null: nothing is. May only be called where the backend leads.
  std::function<Result<Twin>()> exact;
  std::optional<double> tolerance;     // default: DefaultTolerance
  std::set<std::string> nan_expected;  // outputs that may hold NaN: what they are compared with holds some
  std::function<void(uint64_t done, uint64_t total)> progress;
  std::function<bool()> cancelled;  // asked some times a second, from any thread; true fails the run. May be null
};
struct PlanRun {
  RunReport report;
  std::vector<std::pair<std::string, Value>> outputs;  // whole, of the first micro-batch
  // On request: the part of each output that each device, by position in the mesh, has; no sequences.
  std::vector<std::pair<std::string, std::vector<Value>>> parts;
  std::string trace;  // TraceJson, on request
};
// Called by all processes of the backend; a process that does not lead gets an empty result. Errors (kRunFailed): what
// fails while running, with device and task; an output that holds NaN, with the first task that made it.
Result<PlanRun> RunPlanOn(const Plan& plan, const RuleSet& rules, TensorStore& store, Backend& backend,
                          const PlanRunOptions& options);

}  // namespace sbp
