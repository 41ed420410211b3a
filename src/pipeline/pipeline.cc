#include "pipeline/pipeline.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "io/pins.h"
#include "pipeline/coarser_mesh.h"
#include "pipeline/earlier_answer.h"
#include "pipeline/gathered_pins.h"
#include "pipeline/gathered_weights.h"
#include "pipeline/less_memory.h"
#include "pipeline/looped_experts.h"
#include "pipeline/op_order.h"
#include "pipeline/stage.h"
#include "plan/pins.h"
#include "problem/problem.h"
#include "rule/factor_map.h"
#include "sbp/mesh.h"
#include "sbp/signature.h"
#include "strategy/evaluate.h"

namespace sbp {
namespace {

Result<TensorId> FindTensor(const NameIndex& index, const Graph& graph, const std::string& name,
                            const std::string& tie) {
  const TensorId id = index.tensor(name);
  if (id.valid()) return id;
  std::vector<std::string> known;
  for (TensorId output : graph.outputs) known.push_back(graph.tensor(output).name);
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role != TensorRole::kActivation) known.push_back(tensor.name);
  }
  return BadInput(StrCat("--tie ", tie, ": no tensor ", Quote(name), DidYouMean(name, known)));
}

// The ties that the user asked for; where there are none at all, those found by name.
Status AddTies(const PlanOptions& options, Graph& graph, std::vector<std::string>& warnings) {
  const auto is_tied = [&](TensorId output) {
    return std::any_of(graph.ties.begin(), graph.ties.end(), [&](const Tie& tie) { return tie.output == output; });
  };
  std::optional<NameIndex> names;
  if (!options.ties.empty()) names.emplace(graph);
  for (const auto& [output_name, input_name] : options.ties) {
    const NameIndex& index = *names;
    const std::string text = StrCat(output_name, "=", input_name);
    SBP_ASSIGN_OR_RETURN(const TensorId output, FindTensor(index, graph, output_name, text));
    SBP_ASSIGN_OR_RETURN(const TensorId input, FindTensor(index, graph, input_name, text));
    if (graph.tensor(input).role == TensorRole::kActivation) {
      return BadInput(
          StrCat("--tie ", text, ": ", Quote(input_name), " is computed; expected an input or a parameter"));
    }
    if (graph.tensor(output).type != graph.tensor(input).type) {
      return BadInput(StrCat("--tie ", text, ": types differ: ", ToString(graph.tensor(output).type), " and ",
                             ToString(graph.tensor(input).type)));
    }
    if (!is_tied(output)) graph.ties.push_back({output, input});
  }
  if (!options.ties_by_name || !graph.ties.empty()) return OkStatus();
  graph.ties = FindTiesByName(graph);
  if (graph.ties.empty()) return OkStatus();
  const Tie& first = graph.ties.front();
  warnings.push_back(StrCat("ties found by name: ", graph.ties.size(), " outputs end in the layouts of inputs, ",
                            Quote(graph.tensor(first.output).name), " in that of ",
                            Quote(graph.tensor(first.input).name), graph.ties.size() > 1 ? " and so on" : "",
                            " (--no-ties turns this off)"));
  return OkStatus();
}

Result<Pins> CollectPins(const std::vector<std::pair<std::string, std::string>>& texts, const Graph& graph,
                         const Mesh& mesh, const RuleSet& rules) {
  Pins pins;
  std::vector<PinText> written;
  for (const auto& [text, where] : texts) written.push_back({text, where});
  SBP_RETURN_IF_ERROR(ApplyPins(written, graph, mesh, rules, pins));
  SBP_RETURN_IF_ERROR(ApplyGraphPins(graph, mesh, pins));
  return pins;
}

Result<Problem> ProblemOf(const Plan& plan, const std::vector<std::pair<std::string, std::string>>& pin_texts,
                          const RuleSet& rules, const std::function<const Signature*(OpId)>& given) {
  SBP_ASSIGN_OR_RETURN(Pins pins, CollectPins(pin_texts, plan.graph, plan.mesh, rules));
  ProblemOptions options;
  options.candidates.even_only = plan.options.even_only;
  options.strict = plan.options.strict;
  options.outputs = plan.options.outputs;
  options.given = given;
  return BuildProblem(plan.graph, rules, plan.mesh, plan.cluster, std::move(pins), options);
}

void AddWarnings(const std::vector<std::string>& more, std::vector<std::string>& warnings) {
  for (const std::string& warning : more) {
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
  }
}

// A plan that does not fit is still a plan (--memory-limit makes it an error), but nobody should overlook it.
void WarnOfMemory(Plan& plan) {
  const double capacity = plan.cluster.device.memory_bytes.value;
  const auto peak = static_cast<double>(plan.memory.peak_bytes);
  if (capacity <= 0 || peak <= capacity) return;
  plan.warnings.push_back(StrCat("the peak of ", FormatBytes(peak), " is more than the ", FormatBytes(capacity), " of ",
                                 plan.cluster.device.name, "; --memory-limit makes that an error"));
}

// Products of 8-bit floats on a device that has none are priced like those of the nearest type.
std::vector<std::string> WarnOfMissingProducts(const Problem& problem, const DeviceSpec& device) {
  std::vector<std::string> warnings;
  std::set<DType> asked;
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const RuleInstance& instance = *problem.class_at(OpId(o)).list->instance;
    for (const TensorType& operand : instance.operands) {
      const DType dtype = operand.dtype;
      if (!instance.contraction || !IsFloat(dtype) || DTypeBits(dtype) > 8 || !asked.insert(dtype).second) continue;
      const FlopsAnswer answer = FlopsFor(device, dtype);
      if (!answer.substituted || DTypeBits(answer.stated) <= 8) continue;
      warnings.push_back(StrCat(device.name, " has no products of ", DTypeName(dtype), ": they are priced as those of ",
                                DTypeName(answer.stated)));
    }
  }
  return warnings;
}

// Where no plan fits, copies of weights may be why.
Status WithGatheredWeights(const Status& failure, const Problem& problem) {
  if (!failure.lacks_memory()) return failure;
  std::string message = failure.message();
  for (const std::string& warning : WarnOfGatheredWeights(problem)) message += StrCat("; ", warning);
  for (const std::string& warning : WarnOfLoopedExperts(problem)) message += StrCat("; ", warning);
  return NoPlanFits(std::move(message));
}

std::string Dump(const Assignment& assignment, const Problem& problem) {
  std::string text = StrCat("price unit: ", assignment.price_unit, "\n");
  for (size_t o = 0; o < assignment.ops.size(); ++o) {
    const OpChoice& choice = assignment.ops[o];
    text += StrCat("op ", Quote(problem.graph->ops[o].name), ": ",
                   ToString(problem.candidates(OpId(o)).candidates[choice.candidate].signature), " price ",
                   FormatDouble(choice.price), "; ", assignment.reasons[choice.reason], "\n");
  }
  for (const LayoutConflict& conflict : assignment.conflicts) {
    text += StrCat("conflict ", conflict.where, ": ", conflict.given, " gave way to ", conflict.used, "; ",
                   conflict.reason, "\n");
  }
  return text;
}

// The first stages. Takes the request's parts that become the plan's.
Result<std::unique_ptr<PosedProblem>> Pose(PlanRequest& request, StageRunner& stages) {
  auto posed = std::make_unique<PosedProblem>();
  Plan& plan = posed->plan;
  plan.version = Version();
  plan.model_path = std::move(request.model_path);
  plan.model_fingerprint = std::move(request.model_fingerprint);
  plan.graph = std::move(request.graph);
  plan.mesh = std::move(request.mesh);
  plan.cluster = std::move(request.cluster);
  plan.options = std::move(request.options);
  plan.options.rule_files = request.rules->user_files();
  plan.options.pins.clear();
  for (const auto& [text, where] : request.pins) plan.options.pins.push_back(text);
  plan.warnings = std::move(request.warnings);
  SBP_RETURN_IF_ERROR(stages.Run(
      "graph",
      [&] {
        SBP_RETURN_IF_ERROR(AddTies(plan.options, plan.graph, plan.warnings));
        return Verify(plan.graph, plan.model_path);
      },
      [&] { return sbp::Dump(plan.graph); }));

  Problem& problem = posed->problem;
  SBP_RETURN_IF_ERROR(stages.Run(
      "problem",
      [&] {
        const std::vector<Signature>& given = request.strategy.given_signatures;
        SBP_ASSIGN_OR_RETURN(problem, ProblemOf(plan, request.pins, *request.rules, [&](OpId op) {
                               return op.index() < given.size() ? &given[op.index()] : nullptr;
                             }));
        AddWarnings(problem.warnings, plan.warnings);
        AddWarnings(problem.pins.warnings, plan.warnings);
        plan.pin_matches = problem.pins.matches;
        AddWarnings(WarnOfGatheredWeights(problem), plan.warnings);
        AddWarnings(WarnOfLoopedExperts(problem), plan.warnings);
        AddWarnings(WarnOfMissingProducts(problem, plan.cluster.device), plan.warnings);
        return OkStatus();
      },
      [&] { return sbp::Dump(problem); }));
  return posed;
}

bool WantsBound(const PlanRequest& request, const Problem& problem) {
  return problem.mesh.num_devices() > 1 && request.bound.value_or(problem.num_ops() <= kOpsWithBound);
}

// The bound of the search over all plans, whose own plan is dropped. Where it finds none, there is none.
Status AddBound(const Problem& problem, const StrategyOptions& options, Assignment& assignment) {
  const auto searches = std::ranges::find_if(AllStrategies(), [](const StrategyRow& row) { return row.has_bound; });
  StrategyOptions only_bound = options;
  only_bound.only_bound = true;
  const Result<Assignment> searched = searches->solve(problem, only_bound);
  if (!searched.ok()) return OkStatus();
  assignment.has_bound = searched->has_bound;
  assignment.lower_bound_seconds = searched->lower_bound_seconds;
  assignment.schedule_bound_seconds = searched->schedule_bound_seconds;
  return OkStatus();
}

// In the order of the graph's ops.
Result<Plan> PlanGivenOrder(PlanRequest request, const StageObserver& observer) {
  SBP_ASSIGN_OR_RETURN(const StrategyRow* strategy, FindStrategy(request.options.strategy));
  StageRunner stages(observer);
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<PosedProblem> posed, Pose(request, stages));
  Plan& plan = posed->plan;
  const Problem& problem = posed->problem;
  if (strategy->uniform != nullptr) plan.options.uniform = strategy->uniform(request.strategy);
  request.strategy.criterion = plan.options.criterion;
  request.strategy.memory_limit = plan.options.memory_limit;
  request.strategy.prefetch = plan.options.prefetch;
  if (!request.strategy.cancelled) request.strategy.cancelled = observer.cancelled;
  request.strategy.num_ways = request.num_ways;
  request.strategy.way = [&](size_t way) -> Result<Problem> {
    SBP_ASSIGN_OR_RETURN(const auto texts, request.way(way, plan.graph));
    SBP_ASSIGN_OR_RETURN(Pins pins, CollectPins(texts, plan.graph, plan.mesh, *request.rules));
    return WithPins(problem, std::move(pins), plan.options.outputs);
  };
  if (request.start != nullptr && AnswersAlike(*request.start, plan)) {
    std::vector<std::pair<std::string, std::string>> texts;
    for (const std::string& text : request.start->options.pins) texts.emplace_back(text, "the earlier plan");
    if (Result<Pins> pins = CollectPins(texts, plan.graph, plan.mesh, *request.rules); pins.ok())
      request.strategy.start_answer = {request.start, *std::move(pins)};
  }
  const auto plan_on = [&](Mesh mesh, StrategyOptions of_mesh) {
    PlanRequest other{.model_path = plan.model_path,
                      .graph = plan.graph,
                      .mesh = std::move(mesh),
                      .cluster = plan.cluster,
                      .options = plan.options,
                      .strategy = std::move(of_mesh),
                      .rules = request.rules};
    other.options.memory_limit = other.strategy.memory_limit;
    return PlanGivenOrder(std::move(other), {.cancelled = observer.cancelled});
  };
  Assignment assignment;
  SBP_RETURN_IF_ERROR(stages.Run(
      "strategy",
      [&] {
        if (request.begins_coarser && strategy->has_bound) BeginOnCoarserMesh(problem, plan_on, request.strategy);
        Result<Assignment> solved = strategy->solve(problem, request.strategy);
        if (!solved.ok()) return WithGatheredWeights(solved.status(), problem);
        assignment = *std::move(solved);
        return OkStatus();
      },
      [&] { return Dump(assignment, problem); }));

  // What a search was interrupted in has a bound, and is a plan.
  if (observer.cancelled && observer.cancelled()) {
    if (!assignment.has_bound) return NoPlan("planning was interrupted");
    plan.warnings.push_back("interrupted: the best plan found until then");
  }
  if (!assignment.has_bound && WantsBound(request, problem)) {
    SBP_RETURN_IF_ERROR(stages.Run(
        "bound", [&] { return AddBound(problem, request.strategy, assignment); },
        [&] { return StrCat(FormatDouble(assignment.lower_bound_seconds), "\n"); }));
  }
  SBP_RETURN_IF_ERROR(stages.RunToTheEnd(
      "evaluate", [&] { return WithGatheredWeights(EvaluateInLessMemory(problem, assignment, plan), problem); },
      [&] { return sbp::Dump(plan); }));
  WarnOfMemory(plan);
  AddWarnings(WarnOfGatheredPins(problem, plan), plan.warnings);
  return std::move(plan);
}

}  // namespace

std::string_view Version() { return SBP_VERSION; }

Result<std::unique_ptr<PosedProblem>> PoseProblem(PlanRequest request, const StageObserver& observer) {
  StageRunner stages(observer);
  return Pose(request, stages);
}

Result<Plan> MakePlan(PlanRequest request, const StageObserver& observer) {
  SBP_ASSIGN_OR_RETURN(const StrategyRow* strategy, FindStrategy(request.options.strategy));
  request.options.reorders = strategy->reorders != nullptr && strategy->reorders(request.strategy);
  if (!request.options.reorders) return PlanGivenOrder(std::move(request), observer);
  return PlanInShorterOrder(std::move(request), PlanGivenOrder, RebuildProblem, observer);
}

Result<Problem> RebuildProblem(const Plan& plan, const RuleSet& rules) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& text : plan.options.pins) texts.emplace_back(text, "the plan");
  return ProblemOf(plan, texts, rules, [&](OpId op) { return &plan.decision(op).signature; });
}

}  // namespace sbp
