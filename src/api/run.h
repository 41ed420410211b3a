// Executing a plan or a model on real numbers, and comparing them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/model.h"
#include "base/dtype.h"
#include "base/status.h"
#include "fold/resolve_options.h"
#include "graph/tensor_data.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/backends/backend.h"
#include "runtime/run/plan_run.h"

namespace sbp {

// Real numbers by the names of the graph's tensors (api/tensors.h reads them). What is not given is random.
struct RunData {
  std::vector<TensorData> inputs;    // weights too
  std::vector<TensorData> expected;  // outputs to compare with
};

struct RunOptions {
  std::optional<DType> dtype;  // compute all floats in it
  std::string until;           // stop at this tensor, which becomes the only output; "": run all
  uint64_t seed = 0;
  std::optional<double> tolerance;  // of ||out - ref|| / ||ref||; default: by type
  // With `expected_from`: judge each element by atol + rtol |ref|.
  std::optional<double> rtol, atol;
  std::string expected_from;  // what RunData::expected was read from, as reports name it; "": nothing is expected
  uint32_t repeats = 0;       // run again so often, warm, and time it

  // Of plans only.
  uint32_t micro_batches = 0;  // 0: as the plan says, else 1
  bool tensors = false;        // compare every tensor
  bool reference = true;       // run the unsharded model and compare, where nothing is expected
  bool trace = false;          // make PlanRun::trace
  bool parts = false;          // make PlanRun::parts
  std::function<void(uint64_t done, uint64_t total)> progress;
  std::function<bool()> cancelled;  // asked some times a second, from any thread; true fails the run. May be null
};

// The model on one device, as it is. The report is good where nothing differs from what was expected; warnings of
// resolving are told to `warn`.
Result<PlanRun> RunModel(LoadedModel model, const RuleSet& rules, ResolveOptions resolve, RunData data,
                         const RunOptions& options, const std::function<void(std::string_view)>& warn = nullptr);

// The plan on the devices of the backend, whose every process calls this; what does not lead gets an empty result. The
// reference is `model_path`, resolved anew, or the plan's own graph where that is "". The plan must be right
// (RefuseWrongPlan, api/plan_file.h). Errors: data that do not fit (kBadInput), what fails while running (kRunFailed).
Result<PlanRun> RunPlan(Plan plan, const RuleSet& rules, const std::string& model_path, RunData data, Backend& backend,
                        const RunOptions& options);

// The file that the plan, itself read from `plan_path`, was made from: `given`, else where the plan says, seen from
// here or from the plan's folder; "" where it is not at hand. Error (kBadInput): another file than the one that was
// planned; a given one that does not exist.
Result<std::string> FindModelOfPlan(const Plan& plan, const std::string& plan_path, const std::string& given = "");

}  // namespace sbp
