#include "api/planning.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "api/annotation_pins.h"
#include "api/assignment.h"
#include "api/grad.h"
#include "api/model.h"
#include "api/tensors.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "fold/resolve.h"
#include "grad/request.h"
#include "grad/retype.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "huggingface/reader.h"
#include "io/file.h"
#include "onnx/annotations.h"
#include "pipeline/request.h"
#include "recipe/recipe.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "stablehlo/shardings.h"

namespace sbp {
namespace {

Result<Mesh> WholeCluster(const std::string& name, const NoteSink& note) {
  SBP_ASSIGN_OR_RETURN(const Cluster cluster, ChooseCluster(name, nullptr));
  SBP_ASSIGN_OR_RETURN(Mesh mesh, ParseMesh(StrCat("x=", cluster.num_devices())));
  if (note) {
    note(StrCat("no --mesh; planning on one axis over all devices of ", cluster.name, ": --mesh ", ToString(mesh)));
  }
  return mesh;
}

// "eager", "fused", "fused:SCOPE,...".
Status SetExecution(std::string_view text, Cluster& cluster) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::optional<Execution> execution = ParseExecution(name);
  if (!execution) {
    const std::vector<std::string> names(std::begin(kExecutionNames), std::end(kExecutionNames));
    return UsageError(StrCat("--execution ", Quote(name), ": expected ", Join(names, " or "), DidYouMean(name, names)));
  }
  cluster.execution = *execution;
  cluster.fused_scopes.clear();
  if (colon == std::string_view::npos) return OkStatus();
  if (*execution != Execution::kFused) {
    return UsageError(StrCat("--execution ", Quote(text), ": only fused takes scopes"));
  }
  for (const std::string_view scope : Split(text.substr(colon + 1), ',')) {
    if (Trim(scope).empty()) return UsageError(StrCat("--execution ", Quote(text), ": a scope is empty"));
    cluster.fused_scopes.emplace_back(Trim(scope));
  }
  return OkStatus();
}

Result<std::vector<std::pair<std::string, std::string>>> CollectPins(const PlanningInput& input) {
  std::vector<std::pair<std::string, std::string>> pins;
  for (const PinText& pin : input.pins) pins.emplace_back(pin.text, pin.where);
  for (const std::string& file : input.pin_files) {
    SBP_ASSIGN_OR_RETURN(const std::string content, ReadFile(file));
    SBP_ASSIGN_OR_RETURN(const std::vector<PinText> texts, ReadPinsFile(content, file));
    for (const PinText& pin : texts) pins.emplace_back(pin.text, pin.where);
  }
  return pins;
}

Status LoadOnce(PlanningInput& input) {
  if (input.loaded != nullptr) return OkStatus();
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(input.model));
  input.loaded = std::make_shared<LoadedModel>(std::move(model));
  return OkStatus();
}

// Those that plans are to begin with; null: none.
const ShardingAnnotations* AnnotationsOf(const PlanningInput& input) {
  return input.ignore_annotations || input.loaded == nullptr ? nullptr : input.loaded->annotations.get();
}

Status LoadInto(PlanningInput& input, const RuleSet& rules, PlanRequest& request) {
  SBP_RETURN_IF_ERROR(LoadOnce(input));
  LoadedModel& model = *input.loaded;
  request.model_path = model.path;
  request.model_fingerprint = model.fingerprint;
  if (!input.weights.empty()) {
    SBP_ASSIGN_OR_RETURN(std::string unexpected, CheckWeights(input.weights, model.graph));
    if (!unexpected.empty()) request.warnings.push_back(std::move(unexpected));
  }
  std::vector<TensorData> inputs;
  if (!input.inputs.empty()) {
    SBP_ASSIGN_OR_RETURN(inputs, ReadTensors(input.inputs, model.graph, model.graph.inputs, "input"));
  }
  for (const std::string& note : NotesOnConfig(model.graph)) {
    request.warnings.push_back(StrCat(input.model, ": ", note));
  }
  if (inputs.empty()) {
    AssumeBatch(model.graph, input.assumed_batch > 0 ? input.assumed_batch : request.mesh.num_devices(), input.resolve,
                [&](std::string note) { request.warnings.push_back(std::move(note)); });
  }
  if (input.train) {
    SBP_ASSIGN_OR_RETURN(input.train->loss, LossOf(model.graph, input.train->loss));
    input.resolve.asked_for = input.train->wrt;
  }
  input.resolve.strict = request.options.strict;
  input.resolve.simplify = request.options.simplify;
  if (!input.dtype.empty() && input.train) {
    if (!input.train->compute.empty() && input.train->compute != input.dtype) {
      return UsageError(StrCat("--dtype ", input.dtype, " and --compute ", input.train->compute, " differ"));
    }
    input.train->compute = input.dtype;
  }
  const auto resolve = input.train ? ResolveToDifferentiate : ResolveWithInputs;
  SBP_ASSIGN_OR_RETURN(Resolved resolved, resolve(std::move(model.graph), rules, input.resolve, inputs));
  if (input.train) {
    request.warnings.insert(request.warnings.end(), resolved.warnings.begin(), resolved.warnings.end());
    request.options.train = FlagsOf(*input.train);
    const ResolveOptions again = {.strict = input.resolve.strict, .simplify = input.resolve.simplify};
    SBP_ASSIGN_OR_RETURN(resolved, MakeTrainingGraph(std::move(resolved.graph), rules, request.options.train, again));
  } else if (!input.dtype.empty()) {
    SBP_ASSIGN_OR_RETURN(resolved.graph, RetypeModel(std::move(resolved.graph), input.dtype, rules));
    // The file has other types: the plan's own graph is what it is compared with.
    request.model_path.clear();
    request.model_fingerprint.clear();
  }
  request.graph = std::move(resolved.graph);
  request.warnings.insert(request.warnings.end(), resolved.warnings.begin(), resolved.warnings.end());
  for (const Assumption& assumption : request.graph.assumptions) {
    request.warnings.push_back(StrCat("the plan holds only where input ", Quote(assumption.input), " is ",
                                      ToString(assumption), ": its value decided sizes or branches"));
  }
  return OkStatus();
}

bool IsFile(OptionKind kind) {
  return kind == OptionKind::kAssignment || kind == OptionKind::kStart || kind == OptionKind::kLog;
}

// The file given for the row's option of this kind; "": none.
std::string FileOf(const PlanningInput& input, const StrategyRow& row, OptionKind kind) {
  const StrategyOption* option = OptionOfKind(row, kind);
  const auto found = option == nullptr ? input.strategy_options.end() : input.strategy_options.find(option->name);
  if (found == input.strategy_options.end()) return "";
  const std::string* file = std::get_if<std::string>(&found->second);
  return file == nullptr ? "" : *file;
}

// Takes over the strategy's own options. What belongs to another strategy than the one chosen is a mistake.
Result<StrategyOptions> OwnOptions(const PlanningInput& input, const StrategyRow& row) {
  if (!input.criterion.empty() && OptionOfKind(row, OptionKind::kCriterion) == nullptr) {
    return RefuseOption("cost", row);
  }
  for (const StrategyOption& option : row.options) {
    if (!option.required || input.strategy_options.contains(option.name)) continue;
    return UsageError(
        StrCat("--strategy ", row.name, " needs --", option.name, " ", option.value_name, ": ", option.doc));
  }
  StrategyOptions options;
  for (const auto& [name, value] : input.strategy_options) {
    const StrategyOption* option = OptionNamed(row, name);
    if (option == nullptr) return RefuseOption(name, row);
    if (!IsFile(option->kind)) options.values.emplace(name, value);
  }
  if (row.check != nullptr) SBP_RETURN_IF_ERROR(row.check(options));
  return options;
}

// Of a training step, whoever searches may begin with the recipes.
void OfferKnownWays(const RuleSet& rules, PlanRequest& request) {
  const auto updates = [&](const Tie& tie) { return request.graph.tensor(tie.input).role == TensorRole::kParameter; };
  if (std::ranges::none_of(request.graph.ties, updates)) return;
  auto ways = std::make_shared<const std::vector<std::vector<Recipe>>>(KnownRecipes(request.mesh));
  request.num_ways = ways->size();
  using Pins = std::vector<std::pair<std::string, std::string>>;
  request.way = [ways, mesh = request.mesh, &rules](size_t way, const Graph& graph) -> Result<Pins> {
    SBP_ASSIGN_OR_RETURN(RecipePinning made, RecipePins((*ways)[way], graph, mesh, rules));
    return std::move(made.pins);
  };
}

}  // namespace

Result<const StrategyRow*> ChooseStrategy(std::string_view strategy, std::string_view criterion) {
  if (!strategy.empty()) return FindStrategy(strategy);
  if (criterion.empty()) return &AllStrategies().front();
  for (const StrategyRow& row : AllStrategies()) {
    if (OptionOfKind(row, OptionKind::kCriterion) != nullptr) return &row;
  }
  return Defect("no strategy has criteria");
}

Status RefuseOption(std::string_view name, const StrategyRow& strategy) {
  std::vector<std::string> owners;
  bool required = false;
  for (const StrategyRow& row : AllStrategies()) {
    const StrategyOption* option = OptionNamed(row, name);
    if (option == nullptr) continue;
    owners.emplace_back(row.name);
    required = required || option->required;
  }
  const std::string whose = StrCat("--", name, " is for --strategy ", Join(owners, ", "));
  if (required) return UsageError(StrCat(whose, ", not for ", strategy.name));
  return UsageError(StrCat(whose, "; ", strategy.name, " has no use for it"));
}

Result<PlanRequest> PrepareModel(PlanningInput& input, const RuleSet& rules,
                                 const std::function<Status(PlanRequest&)>& place) {
  SBP_ASSIGN_OR_RETURN(const StrategyRow* row, ChooseStrategy(input.strategy, input.criterion));
  if (!input.criterion.empty()) SBP_RETURN_IF_ERROR(FindCriterion(input.criterion).status());
  PlanRequest request;
  request.rules = &rules;
  SBP_ASSIGN_OR_RETURN(request.strategy, OwnOptions(input, *row));
  SBP_RETURN_IF_ERROR(place(request));
  if (!input.execution.empty()) {
    SBP_RETURN_IF_ERROR(SetExecution(input.execution, request.cluster));
  }
  request.options = input.options;
  request.options.strategy = row->name;
  if (!input.criterion.empty()) request.options.criterion = input.criterion;
  request.options.rule_files = rules.user_files();
  SBP_ASSIGN_OR_RETURN(request.pins, CollectPins(input));
  if (!input.recipe.empty()) SBP_RETURN_IF_ERROR(ReadRecipes(input.recipe, request.mesh).status());  // before any work
  SBP_RETURN_IF_ERROR(LoadInto(input, rules, request));
  request.strategy.criterion = request.options.criterion;
  request.strategy.memory_limit = request.options.memory_limit;
  request.strategy.prefetch = request.options.prefetch;
  return request;
}

Status PutOnMesh(const PlanningInput& input, const std::vector<Recipe>& recipes, PlanRequest& request,
                 const NoteSink& note) {
  SBP_ASSIGN_OR_RETURN(const StrategyRow* row, FindStrategy(request.options.strategy));
  if (!recipes.empty()) {
    SBP_ASSIGN_OR_RETURN(RecipePinning made, RecipePins(recipes, request.graph, request.mesh, *request.rules));
    if (note) std::ranges::for_each(made.notes, note);
    request.pins.insert(request.pins.begin(), std::make_move_iterator(made.pins.begin()),
                        std::make_move_iterator(made.pins.end()));
  }
  if (request.pins.empty() && OptionOfKind(*row, OptionKind::kStart) != nullptr) {
    OfferKnownWays(*request.rules, request);
  }
  const std::string assignment = FileOf(input, *row, OptionKind::kAssignment);
  if (!assignment.empty()) SBP_RETURN_IF_ERROR(ReadAssignment(assignment, request));
  const std::string start = FileOf(input, *row, OptionKind::kStart);
  if (!start.empty()) SBP_RETURN_IF_ERROR(ReadStart(start, request));
  return OkStatus();
}

Result<PlanRequest> PreparePlan(PlanningInput input, const RuleSet& rules, const NoteSink& note) {
  const auto place = [&](PlanRequest& request) -> Status {
    if (!input.mesh && !input.ignore_annotations) {
      SBP_RETURN_IF_ERROR(LoadOnce(input));
      if (const ShardingAnnotations* annotations = AnnotationsOf(input)) input.mesh = MeshOfAnnotations(*annotations);
      if (input.loaded->shardings != nullptr) input.mesh = MeshOfShardings(*input.loaded->shardings);
    }
    if (!input.mesh) {
      SBP_ASSIGN_OR_RETURN(input.mesh, WholeCluster(input.cluster, note));
    }
    request.mesh = *input.mesh;
    SBP_ASSIGN_OR_RETURN(request.cluster, ChooseCluster(input.cluster, &request.mesh, note));
    if (input.ignore_annotations) return OkStatus();
    SBP_RETURN_IF_ERROR(LoadOnce(input));
    if (input.loaded->shardings == nullptr) return OkStatus();
    return AddShardings(*input.loaded->shardings, request.mesh, input.loaded->graph, note);  // before it is resolved
  };
  SBP_ASSIGN_OR_RETURN(PlanRequest request, PrepareModel(input, rules, place));
  if (const ShardingAnnotations* annotations = AnnotationsOf(input))
    SBP_RETURN_IF_ERROR(AddAnnotations(*annotations, input.model, request, note));
  std::vector<Recipe> recipes;
  if (!input.recipe.empty()) {
    SBP_ASSIGN_OR_RETURN(recipes, ReadRecipes(input.recipe, request.mesh));
  }
  SBP_RETURN_IF_ERROR(PutOnMesh(input, recipes, request, note));
  return request;
}

SearchGoal GoalOf(const PlanRequest& request) {
  const auto row = FindStrategy(request.options.strategy);
  return row.ok() && (*row)->goal != nullptr ? (*row)->goal(request.strategy) : SearchGoal();
}

}  // namespace sbp
