#include "cli/planning.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "annotation/layout_pins.h"
#include "api/cluster.h"
#include "api/planning.h"
#include "api/remat.h"
#include "api/tensors.h"
#include "base/text.h"
#include "base/time_budget.h"
#include "cli/command_text.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/planning_observer.h"
#include "cli/progress.h"
#include "cli/train_flags.h"
#include "cluster/cluster.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "io/call_files.h"
#include "io/file.h"
#include "pipeline/request.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "recipe/recipe.h"
#include "remat/policy.h"
#include "remat/segments.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "sbp/shard_math.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr std::string_view kAuto = "auto";  // of --remat

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

// A bare number is more often meant as gigabytes than as bytes: it is asked back.
Result<int64_t> ParseBytesFlag(std::string_view flag, const std::string& text, bool may_be_none) {
  const std::optional<int64_t> bytes = ParseBytes(text);
  if (may_be_none && bytes == 0) return 0;
  if (!bytes || *bytes <= 0) {
    return UsageError(StrCat(flag, " ", Quote(text), ": expected bytes per device, such as 80GB or 64GiB"));
  }
  if (ParseDouble(Trim(text))) {
    return UsageError(StrCat(flag, " ", Quote(text), ": a unit is missing (did you mean \"", Trim(text),
                             "GB\", or bytes, \"", Trim(text), "B\"?)"));
  }
  return *bytes;
}

// The flags that influence the plan, as the plan file records them.
Result<PlanOptions> RecordOptions(const PlanningFlags& flags) {
  PlanOptions options;
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
  if (!flags.memory_limit.empty()) {
    SBP_ASSIGN_OR_RETURN(options.memory_limit, ParseBytesFlag("--memory-limit", flags.memory_limit, false));
  }
  if (!flags.prefetch.empty()) {
    SBP_ASSIGN_OR_RETURN(options.prefetch, ParseBytesFlag("--prefetch", flags.prefetch, true));
  }
  return options;
}

}  // namespace

void AddSizeFlags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--batch", flags.batch, "bind dimension batch [of a config.json: the number of devices]")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->type_name("N");
  app.add_option("--seq", flags.sequence, "bind dimension seq, the length of a sequence")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->type_name("N");
}

void AddModelFlags(CLI::App& app, ModelFlags& flags) {
  app.add_option(
         "model", flags.model,
         "ONNX, .pt2 of torch.export, config.json of Hugging Face, or a graph (JSON, prototxt, binary); - is stdin")
      ->required()
      ->type_name("MODEL");
  app.add_option("--dim", flags.dims, "bind a symbolic dimension, NAME=N (an unnamed one is called input[axis])")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  AddSizeFlags(app, flags);
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
  OfferChoices(
      app.add_option("--cluster", flags.cluster,
                     StrCat("a preset (of nodes, such as 8xH100, 2x8xH100: grown to hold the mesh) or a file [",
                            kDefaultCluster, "]"))
          ->type_name("NAME|FILE"),
      NamesOfPresets);
  OfferChoices(
      app.add_option("--execution", flags.execution,
                     "what runs as one kernel: each op (eager), what a compiler makes of the graph (fused), or "
                     "of some scopes, others being eager (fused:layers.*,...) [as the cluster says]")
          ->type_name("HOW"),
      NamesOfExecutions);
  app.add_option("--dtype", flags.dtype,
                 "plan a model of f32 (fp8: or bf16) as if it were bf16, f16 or fp8 (bf16 whose products with weights "
                 "are of e4m3); with --train as --compute")
      ->type_name("TYPE");
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
  app.add_option(
         "--recipe", flags.recipe,
         StrCat("pins of a known way to spread a training step, for all axes or per axis, data=zero3,model=tp: ",
                Join(RecipeNames(), ", "), ", or a file"))
      ->type_name("[AXIS=]NAME[,...]");
  app.add_option("--tie", flags.ties, "an output that must end in its input's layout")
      ->type_name("OUT=IN")
      ->allow_extra_args(false);
  app.add_flag("--no-ties", flags.no_ties, "do not look for ties by name");
  app.add_option("--outputs", flags.outputs,
                 "how outputs end: sharded (any layout without P), whole (B), any (partial too)")
      ->type_name("HOW")
      ->default_str("sharded");
  CLI::Option* bound =
      app.add_flag("--bound", flags.bound,
                   StrCat("state a lower bound beside plans of strategies that find none [graphs of up to ",
                          kOpsWithBound, " ops]"));
  app.add_flag("--no-bound", flags.no_bound, "do not")->excludes(bound);
  app.add_flag("--even-only", flags.even_only, "forbid parts of different sizes");
  app.add_flag(
      "--no-simplify", flags.no_simplify,
      "plan the graph as the file spells it: no joined reshapes, no parts of fused weights, no grouped experts");
  app.add_flag("--ignore-annotations", flags.ignore_annotations,
               "of an ONNX model with multi-device annotations, or of StableHLO with shardings: plan as if it had "
               "none; else they are pins, and give the mesh");
  app.add_option("--memory-limit", flags.memory_limit, "bytes per device, with their unit: 80GB, 64GiB")
      ->type_name("BYTES");
  app.add_option(
         "--prefetch", flags.prefetch,
         "bytes per device that what is sent ahead of its use may add to the peak: 500MB; 0 [what the limit, or "
         "the device, leaves]")
      ->type_name("BYTES");
  app.add_option("--dump-dir", flags.dump_dir, "write each stage's canonical text there")->type_name("DIR");
}

namespace {

template <typename Rows>
std::vector<std::string> NamesOf(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

CLI::Option* AddCriterionFlag(CLI::App& app, PlanningFlags& flags, const std::string& name, const std::string& doc) {
  CLI::Option* option = app.add_option(name, flags.criterion, StrCat(doc, ": ", Join(NamesOf(AllCriteria()), ", ")))
                            ->default_str(StrategyOptions().criterion);
  OfferChoices(option, [] { return NamesOf(AllCriteria()); });
  return option;
}

// The flag of one strategy's own option; its value goes where PlanningInput wants it.
CLI::Option* AddOwnFlag(CLI::App& app, PlanningFlags& flags, const StrategyRow& row, const StrategyOption& option) {
  const std::string name = StrCat("--", option.name), doc = StrCat(row.name, ": ", option.doc);
  const auto keep = [&flags, key = std::string(option.name)](const auto& value) {
    flags.strategy_options[key] = value;
  };
  switch (option.kind) {
    case OptionKind::kCriterion:
      return AddCriterionFlag(app, flags, name, doc);
    case OptionKind::kNumber:
      return app.add_option_function<double>(name, keep, doc)
          ->check(CLI::Range(option.least, option.most))
          ->check([](const std::string& text) {  // which lies in every range
            const std::optional<double> number = ParseDouble(text);
            return number && std::isnan(*number) ? StrCat(Quote(text), ": expected a number") : std::string();
          });
    case OptionKind::kCount:
      return app.add_option_function<int64_t>(name, keep, doc)
          ->check(CLI::Range(static_cast<int>(option.least), static_cast<int>(option.most)));
    case OptionKind::kSeed:
      return app.add_option_function<uint64_t>(name, keep, doc)->check(RefuseNegative);
    case OptionKind::kName: {
      CLI::Option* flag = app.add_option_function<std::string>(name, keep, doc);
      OfferChoices(flag, [value_name = option.value_name] {
        std::vector<std::string> names;
        for (const std::string_view choice : Split(value_name, '|')) names.emplace_back(choice);
        return names;
      });
      return flag;
    }
    case OptionKind::kShare:
    case OptionKind::kShareOrOff:
    case OptionKind::kAssignment:
    case OptionKind::kStart:
    case OptionKind::kLog:
      break;
  }
  return app.add_option_function<std::string>(name, keep, doc);
}

// One flag for all strategies that have an option of its name.
void AddOwnFlags(CLI::App& app, PlanningFlags& flags, bool (*wanted)(OptionKind)) {
  std::set<std::string_view> added;
  for (const StrategyRow& row : AllStrategies()) {
    for (const StrategyOption& option : row.options) {
      if (!wanted(option.kind) || !added.insert(option.name).second) continue;
      AddOwnFlag(app, flags, row, option)->type_name(std::string(option.value_name));
    }
  }
}

}  // namespace

void AddTrainingFlags(CLI::App& app, PlanningFlags& flags) {
  CLI::Option* train =
      app.add_flag("--train", flags.train, "plan a training step of the model, as `grad` makes it")->group("Training");
  AddTrainFlags(app, flags.request, train);
}

void AddStrategyFlags(CLI::App& app, PlanningFlags& flags) {
  CLI::Option* strategy =
      app.add_option("--strategy", flags.strategy, StrCat("who chooses: ", Join(NamesOf(AllStrategies()), ", ")))
          ->type_name("NAME")
          ->default_str(std::string(AllStrategies().front().name));
  OfferChoices(strategy, [] { return NamesOf(AllStrategies()); });
  AddOwnFlags(app, flags, [](OptionKind) { return true; });
}

void AddSearchFlags(CLI::App& app, PlanningFlags& flags) {
  AddOwnFlags(app, flags, [](OptionKind kind) { return kind < OptionKind::kCriterion; });
}

std::vector<std::string> NamesOfPresets() { return NamesOf(AllPresets()); }

std::vector<std::string> NamesOfExecutions() { return {std::begin(kExecutionNames), std::end(kExecutionNames)}; }

Result<Mesh> ParseMeshFlag(const std::string& text) {
  auto mesh = ParseMesh(text);
  if (mesh.ok()) return mesh;
  return UsageError(StrCat("--mesh: ", mesh.status().message()));
}

Result<double> ParseShare(std::string_view flag, std::string_view text) {
  const bool percent = text.ends_with('%');
  const auto number = ParseDouble(percent ? text.substr(0, text.size() - 1) : text);
  const double share = number ? (percent ? *number / 100 : *number) : -1;
  if (!(share >= 0 && share < 1)) {
    return UsageError(StrCat("--", flag, " ", Quote(text), ": expected a share below 1, such as 1% or 0.01"));
  }
  return share;
}

// What recipes stand for is said when their pins are made, by role.
void NotePins(const Plan& plan) {
  constexpr size_t kShown = 20;
  std::vector<const PinMatch*> matches;
  for (const PinMatch& match : plan.pin_matches) {
    if (match.where != kFromRecipe && match.where != kFromAnnotations) matches.push_back(&match);
  }
  for (size_t i = 0; i < std::min(matches.size(), kShown); ++i) {
    const PinMatch& match = *matches[i];
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

Result<Resolved> ResolveModel(Graph graph, const RuleSet& rules, const ModelFlags& flags) {
  std::vector<TensorData> inputs;
  if (!flags.inputs.empty()) {
    SBP_ASSIGN_OR_RETURN(inputs, ReadTensors(flags.inputs, graph, graph.inputs, "input"));
  }
  SBP_ASSIGN_OR_RETURN(ResolveOptions options, ReadModelFlags(flags));
  return ResolveWithInputs(std::move(graph), rules, std::move(options), inputs);
}

void LocateWeightsFor(const std::string& model, const std::string& out, Graph& graph) {
  if (LocateWeights(model, out, graph)) return;
  Note(StrCat("warning: the weights stay in ", model, ", which is not beside or below ", out,
              "; `run` will draw them at random"));
}

Result<ResolveOptions> ReadModelFlags(const ModelFlags& flags) {
  ResolveOptions options;
  options.strict = flags.strict;
  options.allow_empty = flags.allow_empty;
  options.simplify = flags.simplify;
  options.keep_floats = flags.keep_floats;
  std::vector<std::string> dims = flags.dims;
  if (flags.batch) dims.push_back(StrCat("batch=", *flags.batch));
  if (flags.sequence) dims.push_back(StrCat("seq=", *flags.sequence));
  SBP_ASSIGN_OR_RETURN(options.bindings, ParseDims(dims));
  return options;
}

void NoteChoice(std::string_view choice) { Note(StrCat("note: ", choice)); }

namespace {

// The strategies' own options: shares as numbers, and a file that is to be written can be.
Result<std::map<std::string, OptionValue, std::less<>>> ReadOwnOptions(const PlanningFlags& flags,
                                                                       const StrategyRow& row) {
  auto values = flags.strategy_options;
  for (auto& [name, value] : values) {
    const StrategyOption* option = OptionNamed(row, name);
    if (option == nullptr) return RefuseOption(name, row);
    if (option->kind == OptionKind::kLog) SBP_RETURN_IF_ERROR(CheckWritable(std::get<std::string>(value)));
    const bool or_off = option->kind == OptionKind::kShareOrOff;
    if (or_off && std::get<std::string>(value) == "off") {
      value = -1.0;
      continue;
    }
    if (option->kind != OptionKind::kShare && !or_off) continue;
    SBP_ASSIGN_OR_RETURN(value, ParseShare(name, std::get<std::string>(value)));
  }
  return values;
}

// The file of --log, where the strategy has such an option; "": none is asked for.
std::string LogOf(const PlanningFlags& flags) {
  for (const StrategyRow& row : AllStrategies()) {
    const StrategyOption* option = OptionOfKind(row, OptionKind::kLog);
    const auto found = option == nullptr ? flags.strategy_options.end() : flags.strategy_options.find(option->name);
    if (found != flags.strategy_options.end()) return std::get<std::string>(found->second);
  }
  return "";
}

}  // namespace

Result<PlanningInput> ReadPlanningInput(const PlanningFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const StrategyRow* row, ChooseStrategy(flags.strategy, flags.criterion));
  SBP_RETURN_IF_ERROR(MakeDumpDir(flags.dump_dir));
  PlanningInput input;
  input.model = flags.model.model;
  input.strategy = row->name;
  input.criterion = flags.criterion;
  SBP_ASSIGN_OR_RETURN(input.strategy_options, ReadOwnOptions(flags, *row));
  if (flags.mesh) {
    SBP_ASSIGN_OR_RETURN(input.mesh, ParseMeshFlag(*flags.mesh));
  }
  SBP_ASSIGN_OR_RETURN(input.options, RecordOptions(flags));
  SBP_ASSIGN_OR_RETURN(input.resolve, ReadModelFlags(flags.model));
  input.inputs = flags.model.inputs;
  input.cluster = flags.cluster;
  input.execution = flags.execution;
  if (flags.train) {
    input.train = flags.request;
    if (flags.request.remat == kAuto) {
      if (flags.memory_limit.empty()) NoteChoice("--remat auto without --memory-limit: nothing is computed again");
      input.train->remat.clear();
    }
  }
  input.dtype = flags.dtype;
  input.recipe = flags.recipe;
  for (const std::string& pin : flags.pins) input.pins.push_back({pin, "--pin"});
  input.pin_files = flags.pin_files;
  input.ignore_annotations = flags.ignore_annotations;
  input.weights = flags.weights;
  return input;
}

Result<PlanRequest> PreparePlan(const PlanningFlags& flags, const RuleSet& rules, Timings& timings,
                                std::shared_ptr<LoadedModel> loaded) {
  const auto start = Clock::now();
  SBP_ASSIGN_OR_RETURN(PlanningInput input, ReadPlanningInput(flags));
  input.loaded = std::move(loaded);
  SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(std::move(input), rules, NoteChoice));
  if (flags.bound || flags.no_bound) request.bound = flags.bound;
  timings["load"] = SecondsSince(start);
  return request;
}

Result<std::unique_ptr<PosedProblem>> PoseObserved(PlanRequest request, const PlanningFlags& flags, Timings& timings) {
  const InterruptScope interruptible;
  return PoseProblem(std::move(request), MakeObserver(flags.dump_dir, timings));
}

Result<Plan> PlanObserved(PlanRequest request, const PlanningFlags& flags, Timings& timings) {
  const InterruptScope interruptible;
  std::string log = "seconds,cost,lower_bound\n";
  const std::string log_file = LogOf(flags);
  if (ProgressShown() || !log_file.empty()) {
    request.strategy.found = [&log, tell = ProgressTeller()](const SearchState& state) {
      const auto number = [](double value) { return value > 0 ? FormatDouble(value) : std::string(); };
      log += StrCat(FormatDouble(std::round(state.seconds * 1e3) / 1e3), ",", number(state.cost), ",",
                    number(state.lower_bound), "\n");
      tell(StrCat("planning: sum of prices ", FormatSeconds(state.cost),
                  state.lower_bound > 0 ? ", bound " + FormatSeconds(state.lower_bound) : ""));
    };
  }
  auto plan = MakePlan(std::move(request), MakeObserver(flags.dump_dir, timings));
  if (!log_file.empty()) SBP_RETURN_IF_ERROR(WriteFile(log_file, log));
  return plan;
}

bool ChoosesRemat(const PlanningFlags& flags) {
  return flags.train && flags.request.remat == kAuto && !flags.memory_limit.empty();
}

TimeBudget TimeOf(const PlanningFlags& flags) {
  const auto time = flags.strategy_options.find("time");
  return time == flags.strategy_options.end() ? TimeBudget() : TimeBudget(std::get<double>(time->second));
}

Result<Plan> PlanChoosingRemat(const PlanningFlags& flags, const RuleSet& rules, PlanRequest none, Timings& timings) {
  const auto layers = static_cast<int64_t>(FindLayers(none.graph).all.size());
  std::optional<PlanRequest> next = std::move(none);  // of the mix asked for last
  PlanningFlags own = flags;
  const TimeBudget budget = TimeOf(flags);
  const GraphWithRemat graph = [&](const std::string& remat) -> Result<std::string> {
    if (!own.request.remat.empty() && own.request.remat != kAuto) next.reset();
    own.request.remat = remat;
    Timings load;
    if (!next) {
      SBP_ASSIGN_OR_RETURN(next, PreparePlan(own, rules, load));
    }
    return Dump(next->graph);
  };
  const PlanWithRemat plan = [&](const std::string& remat, std::optional<double>) -> Result<std::optional<Plan>> {
    if (budget.is_limited()) next->strategy.values["time"] = budget.NextPiece();
    next->strategy.explains = remat == AllRematPolicies().back().name;
    SBP_ASSIGN_OR_RETURN(Plan made, PlanObserved(*std::move(next), own, timings));
    return std::optional(std::move(made));
  };
  SBP_ASSIGN_OR_RETURN(RematChoice choice, ChooseRemat(layers, plan, graph, nullptr, [&] { return budget.IsSpent(); }));
  Note(ToString(choice));
  return std::move(choice.plan);
}

}  // namespace sbp
