// The flags that every planning command has, and the way from them to a PlanRequest.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/tensor_data.h"
#include "pipeline/pipeline.h"

namespace CLI {
class App;
}

namespace sbp {

// --dim, --inputs, --rules, --strict: what it takes to get a resolved graph.
struct ModelFlags {
  std::string model;
  std::vector<std::string> dims;
  std::string inputs;
  std::vector<std::string> rules;
  bool strict = false;
  bool allow_empty = false;  // as in ResolveOptions; no flag
  bool simplify = false;     // likewise
};
void AddModelFlags(CLI::App& app, ModelFlags& flags);

struct PlanningFlags {
  ModelFlags model;
  std::optional<std::string> mesh;
  std::string cluster;
  std::string strategy;   // empty: greedy where --cost is given, else optimal
  std::string criterion;  // "": as StrategyOptions has it
  std::vector<std::string> pins, pin_files, ties;
  bool no_ties = false;
  std::string outputs = "sharded";
  bool even_only = false;
  bool no_simplify = false;
  std::string memory_limit;
  std::string assignment;
  // optimal: as in StrategyOptions; unset: its defaults.
  std::optional<double> effort, seconds;
  std::optional<int> threads;
  std::optional<uint64_t> seed;
  std::string gap, log, start;
  std::string dump_dir;
};
void AddPlanningFlags(CLI::App& app, PlanningFlags& flags);
// --strategy, --cost, --assignment: for commands that run one strategy.
void AddStrategyFlags(CLI::App& app, PlanningFlags& flags);

// --mesh. Whatever is wrong with its text is wrong usage.
Result<Mesh> ParseMeshFlag(const std::string& text);
// "1%" or "0.01", of --gap.
Result<double> ParseGap(std::string_view text);

// Says on stderr how many tensors or ops each pin stands for, and which.
void NotePins(const Plan& plan);

using Timings = std::map<std::string, double>;  // stage -> seconds

// The built-in rules and the user's files.
Result<RuleSet> LoadRules(const std::vector<std::string>& files);

struct LoadedModel {
  std::string path, fingerprint;
  Graph graph;  // as the file has it
};
Result<LoadedModel> LoadModelFile(const std::string& path);
// Resolves with the flags' bindings and inputs.
Result<Resolved> ResolveModel(Graph graph, const RuleSet& rules, const ModelFlags& flags);
// The same with inputs that are read already.
Result<Resolved> ResolveWithInputs(Graph graph, const RuleSet& rules, const ModelFlags& flags,
                                   const std::vector<TensorData>& inputs);

// Loads, resolves, and parses mesh, cluster, pins: everything but planning. `rules` must outlive the request. Says on
// stderr what was chosen for the user: default mesh, grown cluster, ties found by name.
Result<PlanRequest> PreparePlan(const PlanningFlags& flags, const RuleSet& rules, Timings& timings);
// The cluster named, or read from a file; the default one when `name` is empty. A preset of nodes is grown by nodes
// until it holds the mesh, and named after what it became. Error: another cluster that is too small for the mesh.
Result<Cluster> ChooseCluster(const std::string& name, const Mesh* mesh);
// MakePlan with progress on a terminal, --dump-dir and Ctrl-C. `timings` receives the seconds of each stage.
Result<Plan> PlanObserved(PlanRequest request, const PlanningFlags& flags, Timings& timings);

}  // namespace sbp
