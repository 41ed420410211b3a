#include "cli/planning.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "cli/assignment.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_data.h"
#include "io/documents.h"
#include "io/file.h"
#include "io/pins.h"

namespace sbp {
namespace {

constexpr const char* kDefaultCluster = "8xH100";

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// "NAME=N", split at the last '=': names may hold '='.
Result<std::map<std::string, int64_t>> ParseDims(const std::vector<std::string>& dims) {
  std::map<std::string, int64_t> bindings;
  for (const std::string& text : dims) {
    const size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0) return UsageError(StrCat("--dim ", Quote(text), ": expected NAME=N"));
    const std::string name(Trim(std::string_view(text).substr(0, at)));
    const auto value = ParseInt(Trim(std::string_view(text).substr(at + 1)));
    if (!value || *value < 0) return UsageError(StrCat("--dim ", Quote(text), ": expected a size after '='"));
    const auto [it, added] = bindings.emplace(name, *value);
    if (!added && it->second != *value) {
      return BadInput(StrCat("--dim ", name, " is given twice: ", it->second, " and ", *value));
    }
  }
  return bindings;
}

Result<Mesh> ChooseMesh(const PlanningFlags& flags) {
  if (flags.mesh) {
    return ParseMeshFlag(*flags.mesh);
  }
  SBP_ASSIGN_OR_RETURN(const Cluster cluster, ChooseCluster(flags.cluster, nullptr));
  SBP_ASSIGN_OR_RETURN(Mesh mesh, ParseMesh(StrCat("x=", cluster.num_devices())));
  Note(StrCat("note: no --mesh; planning on one axis over all devices of ", cluster.name, ": --mesh ", ToString(mesh)));
  return mesh;
}

// A bare number is more often meant as gigabytes than as bytes: it is asked back.
Result<int64_t> ParseMemoryLimit(const std::string& text) {
  const std::optional<int64_t> bytes = ParseBytes(text);
  if (!bytes || *bytes <= 0) {
    return UsageError(StrCat("--memory-limit ", Quote(text), ": expected bytes per device, such as 80GB or 64GiB"));
  }
  if (ParseDouble(Trim(text))) {
    return UsageError(StrCat("--memory-limit ", Quote(text), ": a unit is missing (did you mean \"", Trim(text),
                             "GB\", or bytes, \"", Trim(text), "B\"?)"));
  }
  return *bytes;
}

std::string StrategyOf(const PlanningFlags& flags) {
  if (!flags.strategy.empty()) return flags.strategy;
  return flags.criterion.empty() ? "optimal" : "greedy";
}

// The flags that influence the plan, as the plan file records them.
Result<PlanOptions> RecordOptions(const PlanningFlags& flags, const RuleSet& rules) {
  PlanOptions options;
  options.strategy = StrategyOf(flags);
  if (!flags.criterion.empty()) options.criterion = flags.criterion;
  for (const std::string& text : flags.ties) {
    const size_t at = text.rfind('=');
    const bool is_pair = at != std::string::npos && at > 0 && at + 1 < text.size();
    if (!is_pair) return UsageError(StrCat("--tie ", Quote(text), ": expected OUT=IN"));
    options.ties.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  options.ties_by_name = !flags.no_ties;
  const std::optional<OutputPolicy> outputs = ParseOutputPolicy(flags.outputs);
  if (!outputs) return UsageError(StrCat("--outputs ", Quote(flags.outputs), ": expected sharded, whole or any"));
  options.outputs = *outputs;
  options.even_only = flags.even_only;
  options.simplify = !flags.no_simplify;
  options.strict = flags.model.strict;
  options.rule_files = rules.user_files();
  if (!flags.memory_limit.empty()) {
    SBP_ASSIGN_OR_RETURN(options.memory_limit, ParseMemoryLimit(flags.memory_limit));
  }
  return options;
}

Result<std::vector<std::pair<std::string, std::string>>> CollectPins(const PlanningFlags& flags) {
  std::vector<std::pair<std::string, std::string>> pins;
  for (const std::string& pin : flags.pins) pins.emplace_back(pin, "--pin");
  for (const std::string& file : flags.pin_files) {
    SBP_ASSIGN_OR_RETURN(const std::string content, ReadFile(file));
    SBP_ASSIGN_OR_RETURN(const std::vector<PinText> texts, ReadPinsFile(content, file));
    for (const PinText& pin : texts) pins.emplace_back(pin.text, pin.where);
  }
  return pins;
}

Status MakeDumpDir(const std::string& path) {
  if (path.empty()) return OkStatus();
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return BadInput(StrCat("--dump-dir: cannot make folder ", Quote(path), ": ", failed.message()));
  return CheckWritable(path + "/00").WithContext("--dump-dir");
}

StageObserver MakeObserver(const PlanningFlags& flags, Timings& timings) {
  StageObserver observer;
  observer.cancelled = Interrupted;
  observer.begin = [](std::string_view stage) { TellProgress(StrCat("planning: ", stage)); };
  observer.end = [&timings](std::string_view stage, double seconds) { timings[std::string(stage)] += seconds; };
  if (!flags.dump_dir.empty()) {
    observer.dump = [dir = flags.dump_dir](int number, std::string_view stage,
                                           const std::function<std::string()>& dump) {
      char prefix[8];
      std::snprintf(prefix, sizeof prefix, "%02d-", number);
      const Status status = WriteFile(StrCat(dir, "/", prefix, stage, ".txt"), dump());
      if (!status.ok()) Note(StrCat("warning: --dump-dir: ", status.message()));
    };
  }
  return observer;
}

}  // namespace

void AddModelFlags(CLI::App& app, ModelFlags& flags) {
  app.add_option("model", flags.model, "ONNX, or a graph (JSON, prototxt, binary); - is stdin")
      ->required()
      ->type_name("MODEL");
  app.add_option("--dim", flags.dims, "bind a symbolic dimension, NAME=N (an unnamed one is called input[axis])")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--inputs", flags.inputs, "take dimensions from the shapes of real inputs (.npz)")->type_name("X.npz");
  app.add_option("--rules", flags.rules, "sharding rules of your own (rules/README.md)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_flag("--strict", flags.strict, "an op without a rule is an error, not a replicated op");
}

void AddPlanningFlags(CLI::App& app, PlanningFlags& flags) {
  AddModelFlags(app, flags.model);
  app.add_option("--mesh", flags.mesh,
                 "device axes, outermost first: data=2,model=4, or 8, or data=2,model=4@0-7, or ranks: [[0,1],[2,3]]")
      ->type_name("MESH");
  app.add_option("--cluster", flags.cluster,
                 StrCat("a preset (of nodes, such as 8xH100, 2x8xH100: grown to hold the mesh) or a file [",
                        kDefaultCluster, "]"))
      ->type_name("NAME|FILE");
  app.add_option("--pin", flags.pins,
                 "fix how a tensor lies, TENSOR=(S(0), B), is written, TENSOR<-(P, B), both and for all readers, "
                 "TENSOR==(S(0), B); one use, OP.ARG=(B, B); a signature, OP: (S(0), B), ... -> (S(0), B)")
      ->type_name("PIN")
      ->allow_extra_args(false);
  app.add_option(
         "--pins", flags.pin_files,
         "pins from a file, one a line; tensors by name or by scope and role: layers.*/mlp/fc1:weight=(B, S(1))")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--tie", flags.ties, "an output that must end in its input's layout")
      ->type_name("OUT=IN")
      ->allow_extra_args(false);
  app.add_flag("--no-ties", flags.no_ties, "do not look for ties by name");
  app.add_option("--outputs", flags.outputs,
                 "how outputs end: sharded (any layout without P), whole (B), any (partial too)")
      ->type_name("HOW")
      ->default_str("sharded");
  app.add_flag("--even-only", flags.even_only, "forbid parts of different sizes");
  app.add_flag(
      "--no-simplify", flags.no_simplify,
      "plan the graph as the file spells it: no joined reshapes, no parts of fused weights, no grouped experts");
  app.add_option("--memory-limit", flags.memory_limit, "bytes per device, with their unit: 80GB, 64GiB")
      ->type_name("BYTES");
  app.add_option("--dump-dir", flags.dump_dir, "write each stage's canonical text there")->type_name("DIR");
}

void AddStrategyFlags(CLI::App& app, PlanningFlags& flags) {
  std::vector<std::string> strategies, criteria;
  for (const StrategyRow& row : AllStrategies()) strategies.emplace_back(row.name);
  for (const CriterionRow& row : AllCriteria()) criteria.emplace_back(row.name);
  app.add_option("--strategy", flags.strategy, StrCat("who chooses: ", Join(strategies, ", ")))
      ->type_name("NAME")
      ->default_str("optimal");
  app.add_option("--cost", flags.criterion, StrCat("what greedy minimises: ", Join(criteria, ", ")))
      ->type_name("NAME")
      ->default_str(StrategyOptions().criterion);
  app.add_option("--assignment", flags.assignment, "for --strategy fixed: a plan, or a pins file that covers every op")
      ->type_name("FILE");
  app.add_option("--effort", flags.effort, "optimal: amount of work, about seconds of one processor")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--time", flags.seconds, "optimal: seconds of searching, in place of --effort")
      ->type_name("S")
      ->check(CLI::Range(0.001, 1e9));
  app.add_option("--gap", flags.gap, "optimal: good enough, such as 1% [0.9%]")->type_name("SHARE");
  app.add_option("--threads", flags.threads, "optimal: the plan does not depend on it, unless --time is given")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seed", flags.seed, "optimal: of its random choices")->type_name("N")->check(RefuseNegative);
  app.add_option("--start", flags.start, "optimal: an earlier plan to begin with, ops matched by name; pins override")
      ->type_name("PLAN");
  app.add_option("--log", flags.log, "optimal: cost and bound over time, as CSV")->type_name("FILE");
}

Result<Mesh> ParseMeshFlag(const std::string& text) {
  auto mesh = ParseMesh(text);
  if (mesh.ok()) return mesh;
  return UsageError(StrCat("--mesh: ", mesh.status().message()));
}

Result<double> ParseGap(std::string_view text) {
  const bool percent = text.ends_with('%');
  const auto number = ParseDouble(percent ? text.substr(0, text.size() - 1) : text);
  const double share = number ? (percent ? *number / 100 : *number) : -1;
  if (!(share >= 0 && share < 1)) {
    return UsageError(StrCat("--gap ", Quote(text), ": expected a share below 1, such as 1% or 0.01"));
  }
  return share;
}

void NotePins(const Plan& plan) {
  constexpr size_t kShown = 20;
  const std::vector<PinMatch>& matches = plan.pin_matches;
  for (size_t i = 0; i < std::min(matches.size(), kShown); ++i) {
    const PinMatch& match = matches[i];
    const auto more = match.count - static_cast<int64_t>(match.first.size());
    const std::string_view kind = match.of_ops ? "op" : "tensor";
    Note(StrCat("note: ", match.where, " ", Quote(match.text), ": ", FormatCount(match.count), " ", kind,
                match.count == 1 ? "" : "s", ": ", Join(match.first, ", "),
                more > 0 ? StrCat(" and ", FormatCount(more), " more") : ""));
  }
  if (matches.size() > kShown) {
    Note(StrCat("note: and ", FormatCount(static_cast<int64_t>(matches.size() - kShown)),
                " pins more; --format json lists them all"));
  }
}

Result<RuleSet> LoadRules(const std::vector<std::string>& files) {
  SBP_ASSIGN_OR_RETURN(RuleSet rules, RuleSet::Builtin());
  for (const std::string& file : files) {
    SBP_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    SBP_RETURN_IF_ERROR(rules.Add(text, file));
  }
  return rules;
}

Result<LoadedModel> LoadModelFile(const std::string& path) {
  LoadedModel model;
  model.path = path;
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  model.fingerprint = Fingerprint(bytes);
  SBP_ASSIGN_OR_RETURN(model.graph, LoadModel(bytes, path, path));
  return model;
}

Result<Resolved> ResolveModel(Graph graph, const RuleSet& rules, const ModelFlags& flags) {
  std::vector<TensorData> inputs;
  if (!flags.inputs.empty()) {
    SBP_ASSIGN_OR_RETURN(inputs, ReadTensors(flags.inputs, graph, graph.inputs, "input"));
  }
  return ResolveWithInputs(std::move(graph), rules, flags, inputs);
}

Result<Resolved> ResolveWithInputs(Graph graph, const RuleSet& rules, const ModelFlags& flags,
                                   const std::vector<TensorData>& inputs) {
  ResolveOptions options;
  options.strict = flags.strict;
  options.allow_empty = flags.allow_empty;
  options.simplify = flags.simplify;
  SBP_ASSIGN_OR_RETURN(options.bindings, ParseDims(flags.dims));
  for (const TensorData& data : inputs) {
    options.input_shapes.emplace_back(data.name, data.type.shape);
    if (LiteralRef value = SmallValue(data)) options.input_values.emplace_back(data.name, std::move(value));
  }
  return Resolve(std::move(graph), rules, options);
}

Result<Cluster> ChooseCluster(const std::string& name, const Mesh* mesh) {
  const std::string chosen = name.empty() ? kDefaultCluster : name;
  auto preset = FindPreset(chosen);
  Cluster cluster;
  if (preset.ok()) {
    cluster = std::move(preset).value();
  } else if (chosen != "-" && access(chosen.c_str(), R_OK) != 0) {
    return preset.status().WithContext("--cluster");  // neither a preset nor a file: the presets are the likelier wish
  } else {
    SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(chosen));
    SBP_ASSIGN_OR_RETURN(cluster, ReadCluster(bytes, chosen));
  }
  if (mesh == nullptr) return cluster;
  int64_t needed = mesh->num_devices();
  for (const int64_t rank : mesh->ranks) needed = std::max(needed, rank + 1);
  if (needed <= cluster.num_devices()) return cluster;
  if (!preset.ok() || !cluster.growable) {
    return BadInput(StrCat("--cluster ", chosen, " has ", cluster.num_devices(), " devices; the mesh ", ToString(*mesh),
                           " needs ", needed));
  }
  Grow(CeilDiv(needed, cluster.devices_per_node), cluster);
  Note(StrCat("note: cluster ", chosen, " grown to ", cluster.num_nodes, " nodes to hold the mesh: ", cluster.name));
  return cluster;
}

// The flags of the search, which only one strategy has.
Status ReadSearchFlags(const PlanningFlags& flags, StrategyOptions& options) {
  const std::pair<std::string_view, bool> given[] = {
      {"--effort", flags.effort.has_value()},   {"--time", flags.seconds.has_value()}, {"--gap", !flags.gap.empty()},
      {"--threads", flags.threads.has_value()}, {"--seed", flags.seed.has_value()},    {"--log", !flags.log.empty()},
      {"--start", !flags.start.empty()}};
  for (const auto& [flag, is_given] : given) {
    if (is_given && StrategyOf(flags) != "optimal") {
      return UsageError(StrCat(flag, " is for --strategy optimal; ", StrategyOf(flags), " has no use for it"));
    }
  }
  if (flags.effort && flags.seconds) return UsageError("--effort and --time: one of them says when to stop");
  if (!flags.gap.empty()) {
    SBP_ASSIGN_OR_RETURN(options.gap, ParseGap(flags.gap));
  }
  if (!flags.log.empty()) SBP_RETURN_IF_ERROR(CheckWritable(flags.log));
  options.effort = flags.effort.value_or(options.effort);
  options.seconds = flags.seconds.value_or(options.seconds);
  options.threads = flags.threads.value_or(options.threads);
  options.seed = flags.seed.value_or(options.seed);
  return OkStatus();
}

Result<PlanRequest> PreparePlan(const PlanningFlags& flags, const RuleSet& rules, Timings& timings) {
  SBP_RETURN_IF_ERROR(FindStrategy(StrategyOf(flags)).status());
  SBP_RETURN_IF_ERROR(MakeDumpDir(flags.dump_dir));
  if (!flags.criterion.empty()) {
    SBP_RETURN_IF_ERROR(FindCriterion(flags.criterion).status());
    if (StrategyOf(flags) != "greedy") {
      return UsageError(
          StrCat("--cost is what --strategy greedy minimises; ", StrategyOf(flags), " has no use for it"));
    }
  }
  if (StrategyOf(flags) == "fixed" && flags.assignment.empty()) {
    return UsageError("--strategy fixed needs --assignment FILE: a plan, or a pins file that covers every op");
  }
  if (StrategyOf(flags) != "fixed" && !flags.assignment.empty()) {
    return UsageError(StrCat("--assignment is for --strategy fixed, not for ", StrategyOf(flags)));
  }
  const auto start = Clock::now();
  PlanRequest request;
  SBP_RETURN_IF_ERROR(ReadSearchFlags(flags, request.strategy));
  request.rules = &rules;
  SBP_ASSIGN_OR_RETURN(request.mesh, ChooseMesh(flags));
  SBP_ASSIGN_OR_RETURN(request.cluster, ChooseCluster(flags.cluster, &request.mesh));
  SBP_ASSIGN_OR_RETURN(request.options, RecordOptions(flags, rules));
  SBP_ASSIGN_OR_RETURN(request.pins, CollectPins(flags));
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(flags.model.model));
  request.model_path = model.path;
  request.model_fingerprint = model.fingerprint;
  ModelFlags as_planned = flags.model;
  as_planned.simplify = request.options.simplify;
  SBP_ASSIGN_OR_RETURN(Resolved resolved, ResolveModel(std::move(model.graph), rules, as_planned));
  request.graph = std::move(resolved.graph);
  request.warnings = std::move(resolved.warnings);
  for (const Assumption& assumption : request.graph.assumptions) {
    request.warnings.push_back(StrCat("the plan holds only where input ", Quote(assumption.input), " is ",
                                      ToString(assumption), ": its value decided sizes or branches"));
  }
  if (!flags.criterion.empty()) request.strategy.criterion = flags.criterion;
  request.strategy.memory_limit = request.options.memory_limit;
  if (!flags.assignment.empty()) {
    SBP_RETURN_IF_ERROR(ReadAssignment(flags.assignment, request));
  }
  if (!flags.start.empty()) SBP_RETURN_IF_ERROR(ReadStart(flags.start, request));
  timings["load"] = SecondsSince(start);
  return request;
}

Result<Plan> PlanObserved(PlanRequest request, const PlanningFlags& flags, Timings& timings) {
  const InterruptScope interruptible;
  std::string log = "seconds,cost,lower_bound\n";
  if (ProgressShown() || !flags.log.empty()) {
    request.strategy.found = [&log](const SearchState& state) {
      const auto number = [](double value) { return value > 0 ? FormatDouble(value) : std::string(); };
      log += StrCat(FormatDouble(std::round(state.seconds * 1e3) / 1e3), ",", number(state.cost), ",",
                    number(state.lower_bound), "\n");
      TellProgress(StrCat("planning: step time ", FormatSeconds(state.cost),
                          state.lower_bound > 0 ? ", bound " + FormatSeconds(state.lower_bound) : ""));
    };
  }
  auto plan = MakePlan(std::move(request), MakeObserver(flags, timings));
  if (!flags.log.empty()) SBP_RETURN_IF_ERROR(WriteFile(flags.log, log));
  return plan;
}

}  // namespace sbp
