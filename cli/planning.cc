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
    auto mesh = ParseMesh(*flags.mesh);
    return mesh.ok() ? mesh : mesh.status().WithContext("--mesh");
  }
  SBP_ASSIGN_OR_RETURN(const Cluster cluster, ChooseCluster(flags.cluster, nullptr));
  SBP_ASSIGN_OR_RETURN(Mesh mesh, ParseMesh(StrCat("x=", cluster.num_devices())));
  Note(StrCat("note: no --mesh; planning on one axis over all devices of ", cluster.name, ": --mesh ", ToString(mesh)));
  return mesh;
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
    if (at == std::string::npos) return UsageError(StrCat("--tie ", Quote(text), ": expected OUT=IN"));
    options.ties.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  options.ties_by_name = !flags.no_ties;
  options.even_only = flags.even_only;
  options.simplify = !flags.no_simplify;
  options.strict = flags.model.strict;
  options.rule_files = rules.user_files();
  if (!flags.memory_limit.empty()) {
    options.memory_limit = ParseBytes(flags.memory_limit);
    if (!options.memory_limit || *options.memory_limit <= 0) {
      return UsageError(
          StrCat("--memory-limit ", Quote(flags.memory_limit), ": expected bytes, such as 80GB or 64GiB"));
    }
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

StageObserver MakeObserver(const PlanningFlags& flags, Timings& timings) {
  StageObserver observer;
  observer.cancelled = Interrupted;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  observer.begin = [terminal](std::string_view stage) {
    if (terminal) std::fprintf(stderr, "\r\033[K%.*s ...", static_cast<int>(stage.size()), stage.data());
  };
  observer.end = [terminal, &timings](std::string_view stage, double seconds) {
    if (terminal) std::fputs("\r\033[K", stderr);
    timings[std::string(stage)] += seconds;
  };
  if (!flags.dump_dir.empty()) {
    std::error_code failed;  // said by the first write
    std::filesystem::create_directories(flags.dump_dir, failed);
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
  app.add_option("--mesh", flags.mesh, "device axes, outermost first: data=2,model=4, or 8, or data=2,model=4@0-7")
      ->type_name("MESH");
  app.add_option("--cluster", flags.cluster,
                 StrCat("a preset or a file [", kDefaultCluster, ", grown to hold the mesh]"))
      ->type_name("NAME|FILE");
  app.add_option("--pin", flags.pins, "fix a layout: TENSOR=(S(0), B), OP.ARG=(B, B), OP: (S(0), B), ... -> (S(0), B)")
      ->type_name("PIN")
      ->allow_extra_args(false);
  app.add_option("--pins", flags.pin_files, "pins from a file, one a line")->type_name("FILE")->allow_extra_args(false);
  app.add_option("--tie", flags.ties, "an output that must end in its input's layout")
      ->type_name("OUT=IN")
      ->allow_extra_args(false);
  app.add_flag("--no-ties", flags.no_ties, "do not look for ties by name");
  app.add_flag("--even-only", flags.even_only, "forbid parts of different sizes");
  app.add_flag(
      "--no-simplify", flags.no_simplify,
      "plan the graph as the file spells it: no joined reshapes, no parts of fused weights, no grouped experts");
  app.add_option("--memory-limit", flags.memory_limit, "bytes per device: 80GB, 64GiB")->type_name("BYTES");
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
  app.add_option("--seed", flags.seed, "optimal: of its random choices")->type_name("N");
  app.add_option("--start", flags.start, "optimal: an earlier plan to begin with, ops matched by name; pins override")
      ->type_name("PLAN");
  app.add_option("--log", flags.log, "optimal: cost and bound over time, as CSV")->type_name("FILE");
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
  const bool by_default = name.empty();
  const std::string chosen = by_default ? kDefaultCluster : name;
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
  if (!by_default) {
    return BadInput(StrCat("--cluster ", chosen, " has ", cluster.num_devices(), " devices; the mesh ", ToString(*mesh),
                           " needs ", needed));
  }
  cluster.num_nodes = CeilDiv(needed, cluster.devices_per_node);
  Note(StrCat("note: cluster ", chosen, " grown to ", cluster.num_nodes, " nodes to hold the mesh"));
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
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal || !flags.log.empty()) {
    request.strategy.found = [&log, terminal, shown = 0.0](const SearchState& state) mutable {
      const auto number = [](double value) { return value > 0 ? FormatDouble(value) : std::string(); };
      log += StrCat(FormatDouble(std::round(state.seconds * 1e3) / 1e3), ",", number(state.cost), ",",
                    number(state.lower_bound), "\n");
      if (!terminal || state.seconds < shown + 0.2) return;
      shown = state.seconds;
      const std::string line =
          StrCat("\r\033[K", FormatSeconds(state.seconds), ": step time ", FormatSeconds(state.cost),
                 state.lower_bound > 0 ? ", bound " + FormatSeconds(state.lower_bound) : "");
      std::fputs(line.c_str(), stderr);
    };
  }
  auto plan = MakePlan(std::move(request), MakeObserver(flags, timings));
  if (!flags.log.empty()) SBP_RETURN_IF_ERROR(WriteFile(flags.log, log));
  return plan;
}

}  // namespace sbp
