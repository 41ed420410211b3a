// The flags that every planning command has, and the way from them to a PlanRequest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/model.h"
#include "api/planning.h"
#include "base/status.h"
#include "base/time_budget.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "grad/request.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "strategy/strategy.h"

namespace CLI {
class App;
}

namespace sbp {

// --dim, --inputs, --rules, --strict: what it takes to get a resolved graph.
struct ModelFlags {
  std::string model;
  std::vector<std::string> dims;
  std::optional<int64_t> batch, sequence;  // --dim batch=, --dim seq=
  std::string inputs;
  std::vector<std::string> rules;
  bool strict = false;
  bool allow_empty = false;  // as in ResolveOptions; no flag
  bool simplify = false;     // likewise
  bool keep_floats = false;  // likewise
};
void AddModelFlags(CLI::App& app, ModelFlags& flags);
void AddSizeFlags(CLI::App& app, ModelFlags& flags);  // --batch, --seq

struct PlanningFlags {
  ModelFlags model;
  std::optional<std::string> mesh;
  std::string cluster;
  std::string execution;
  std::string strategy, criterion;  // "": as ChooseStrategy has it (api/planning.h)
  std::vector<std::string> pins, pin_files, ties;
  std::string recipe;
  bool no_ties = false;
  bool bound = false, no_bound = false;
  std::string outputs = "sharded";
  bool even_only = false;
  bool no_simplify = false;
  bool ignore_annotations = false;
  std::string weights;
  std::string memory_limit;
  std::string prefetch;
  // The strategies' own options that were given, by name; shares and files as text.
  std::map<std::string, OptionValue, std::less<>> strategy_options;
  std::string dump_dir;
  bool train = false;  // plan a training graph of the model, as `request` says
  std::string dtype;
  GradRequest request;
};
void AddPlanningFlags(CLI::App& app, PlanningFlags& flags);
// --strategy and what the rows of strategies say that they take: for commands that run one strategy.
void AddStrategyFlags(CLI::App& app, PlanningFlags& flags);
// What they take but files and criteria, without --strategy: for commands that run several.
void AddSearchFlags(CLI::App& app, PlanningFlags& flags);

// --train and the flags of training graphs (cli/train_flags.h).
void AddTrainingFlags(CLI::App& app, PlanningFlags& flags);

// For completions.
std::vector<std::string> NamesOfPresets();
std::vector<std::string> NamesOfExecutions();

// --mesh. Whatever is wrong with its text is wrong usage.
Result<Mesh> ParseMeshFlag(const std::string& text);
// "1%" or "0.01", of a flag such as "gap".
Result<double> ParseShare(std::string_view flag, std::string_view text);

// Says on stderr how many tensors or ops each pin stands for, and which.
void NotePins(const Plan& plan);

using Timings = std::map<std::string, double>;  // stage -> seconds

// Resolves with the flags' bindings and inputs.
Result<Resolved> ResolveModel(Graph graph, const RuleSet& rules, const ModelFlags& flags);
// What the flags say of resolving, without --inputs.
Result<ResolveOptions> ReadModelFlags(const ModelFlags& flags);

// LocateWeights (api/model.h) of a graph of `model` that will be written to `out`, and a warning where it cannot.
void LocateWeightsFor(const std::string& model, const std::string& out, Graph& graph);

// What was chosen for the user, as a note on stderr.
void NoteChoice(std::string_view choice);

// What the flags say, nothing loaded yet. Says on stderr what was chosen for the user.
Result<PlanningInput> ReadPlanningInput(const PlanningFlags& flags);
// Loads, resolves, and parses mesh, cluster, pins: everything but planning. `rules` must outlive the request. Says on
// stderr what was chosen for the user: default mesh, grown cluster, ties found by name.
Result<PlanRequest> PreparePlan(const PlanningFlags& flags, const RuleSet& rules, Timings& timings,
                                std::shared_ptr<LoadedModel> loaded = nullptr);
// PoseProblem with progress, --dump-dir and Ctrl-C.
Result<std::unique_ptr<PosedProblem>> PoseObserved(PlanRequest request, const PlanningFlags& flags, Timings& timings);
// --remat auto with a memory limit. Then PreparePlan's request is that of no remat.
bool ChoosesRemat(const PlanningFlags& flags);
// Of --time, from now on; without it never spent.
TimeBudget TimeOf(const PlanningFlags& flags);
// ChooseRemat (api/remat.h), each of its plans made as PlanObserved does; says on stderr what was tried.
Result<Plan> PlanChoosingRemat(const PlanningFlags& flags, const RuleSet& rules, PlanRequest none, Timings& timings);
// MakePlan with progress on a terminal, --dump-dir and Ctrl-C. `timings` receives the seconds of each stage.
Result<Plan> PlanObserved(PlanRequest request, const PlanningFlags& flags, Timings& timings);

}  // namespace sbp
