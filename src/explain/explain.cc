#include "explain/explain.h"

#include <algorithm>
#include <set>

#include "base/checked_math.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "explain/kernel.h"
#include "explain/neighbour_boxing.h"
#include "explain/scope.h"
#include "graph/again.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "naming/module_index.h"
#include "naming/module_names.h"
#include "plan/patterns.h"
#include "plan/pins.h"
#include "rule/candidates.h"
#include "rule/describe.h"
#include "rule/factor_map.h"
#include "sbp/signature.h"
#include "schedule/play.h"
#include "schedule/schedule.h"
#include "strategy/transition_reason.h"

namespace sbp {
namespace {

constexpr size_t kMostTerms = 1'000'000;  // of one criterion's prices of all candidates: a term is a line of text
constexpr double kForcedRounding = 1e-9;  // of the sum of prices: closer is equal
// How many alternatives get a search of their own, and how many a plan: fewer in large graphs, where each takes longer.
// As operands of ops in all.
constexpr size_t kUsesForced = 18'000, kLeastForced = 3, kMostForced = 24;
constexpr size_t kUsesPriced = 2'000'000;

std::string SlotName(const std::vector<std::string>& names, size_t slot) {
  return slot < names.size() ? names[slot] : StrCat(slot);
}

std::string WriterOf(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  if (tensor.producer.valid()) return OpLabel(graph, tensor.producer);
  return tensor.role == TensorRole::kParameter ? "parameter" : "input";
}

// Who reads a tensor, as neighbours; `slot` says which slot of the explained thing it is.
void AddReaders(const Problem& problem, const Plan& plan, TensorId tensor, const std::string& slot,
                std::vector<ExplainedNeighbour>& out) {
  const Graph& graph = *problem.graph;
  const NdSbp& written = plan.source_layouts[tensor.index()];
  const std::string label = problem.names.Label(graph, tensor);
  const auto [begin, end] = problem.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    out.push_back({slot, graph.tensor(tensor).name, label, OpLabel(graph, use->op), written,
                   plan.decision(use->op).signature.inputs[use->operand], graph.tensor(tensor).type.rank()});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i] != tensor) continue;
    out.push_back({slot, graph.tensor(tensor).name, label, "output of the graph", written, plan.output_layouts[i],
                   graph.tensor(tensor).type.rank()});
    break;
  }
}

std::vector<ExplainedNeighbour> NeighboursOf(const Problem& problem, const Plan& plan, OpId op) {
  const Graph& graph = *problem.graph;
  const RuleInstance& instance = *problem.candidates(op).instance;
  const Signature& signature = plan.decision(op).signature;
  std::vector<ExplainedNeighbour> neighbours;
  const auto operands = problem.operands(op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    neighbours.push_back({"operand " + SlotName(instance.operand_names, i), graph.tensor(operands[i]).name,
                          problem.names.Label(graph, operands[i]), WriterOf(graph, operands[i]),
                          plan.source_layouts[operands[i].index()], signature.inputs[i],
                          graph.tensor(operands[i]).type.rank()});
  }
  const auto& outputs = graph.op(op).outputs;
  for (size_t r = 0; r < outputs.size(); ++r) {
    if (outputs[r].valid())
      AddReaders(problem, plan, outputs[r], "result " + SlotName(instance.result_names, r), neighbours);
  }
  return neighbours;
}

// Where the step makes it several times, of one of them on average.
std::optional<double> ExposedSeconds(const Plan& plan, const Schedule& schedule, uint32_t index) {
  const Transition& transition = plan.transitions[index];
  double sent = 0;
  for (size_t s = 0; s < transition.steps.size(); ++s) {
    const TaskTime& time = schedule.transitions[index][s];
    if (!RowOf(transition.steps[s].kind).local) sent += time.end - time.start;
  }
  if (sent <= 0) return std::nullopt;
  double once = 0;
  for (const BoxingStep& step : transition.steps) once += RowOf(step.kind).local ? 0 : step.seconds;
  return once * std::min(1.0, schedule.exposed[index] / sent);
}

ExplainedCollective Describe(const Problem& problem, const Plan& plan, const Schedule& schedule, uint32_t index) {
  const Transition& transition = plan.transitions[index];
  ExplainedCollective collective;
  collective.transition = index;
  collective.rank = plan.graph.tensor(transition.tensor).type.rank();
  collective.tensor = plan.graph.tensor(transition.tensor).name;
  collective.label = problem.names.Label(plan.graph, transition.tensor);
  collective.from = transition.from;
  collective.to = transition.to;
  for (const BoxingStep& step : transition.steps) {
    collective.steps.push_back(StrCat(CollectiveKindName(step.kind), " over ", plan.mesh.axes[step.axis].name));
  }
  collective.seconds = transition.seconds;
  collective.wire_bytes = transition.wire_bytes;
  collective.exposed_seconds = ExposedSeconds(plan, schedule, index);
  collective.reason = transition.reason;
  if (transition.cut_seconds > 0)
    collective.reason += StrCat("; a kernel group is cut here, ", FormatSeconds(transition.cut_seconds), " more");
  return collective;
}

// Collectives that bring an operand to the op, or carry a result of it to anybody.
std::vector<ExplainedCollective> CollectivesOf(const Problem& problem, const Plan& plan, OpId op) {
  const auto& outputs = problem.graph->op(op).outputs;
  const Schedule schedule = MakeSchedule(plan);
  std::vector<ExplainedCollective> collectives;
  for (uint32_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    const bool carries_result = std::find(outputs.begin(), outputs.end(), transition.tensor) != outputs.end();
    const bool brings_operand = std::any_of(transition.consumers.begin(), transition.consumers.end(),
                                            [&](const Use& use) { return use.op == op; });
    if (carries_result || brings_operand) collectives.push_back(Describe(problem, plan, schedule, i));
  }
  return collectives;
}

void AddTensorPins(const Pins& pins, TensorId tensor, std::set<std::string>& texts) {
  for (const auto* kind : {&pins.tensors, &pins.lies}) {
    if (const auto pin = kind->find(tensor); pin != kind->end()) texts.insert(pin->second.text);
  }
}

// Pins that concern the op, and those on the tensors around it (its neighbours' side).
std::vector<std::string> PinTexts(const Problem& problem, OpId op) {
  std::set<std::string> texts;
  const Pins& pins = problem.pins;
  if (const auto pin = pins.signatures.find(op); pin != pins.signatures.end()) texts.insert(pin->second.text);
  const auto operands = problem.operands(op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const auto pin = pins.uses.find(UseKey(op, i)); pin != pins.uses.end()) texts.insert(pin->second.text);
    AddTensorPins(pins, operands[i], texts);
  }
  for (TensorId output : problem.graph->op(op).outputs) AddTensorPins(pins, output, texts);
  return {texts.begin(), texts.end()};
}

ExplainedPrice PriceOf(const CriterionRow& row, const CriterionQuery& query, uint32_t candidate) {
  ExplainedPrice price{std::string(row.name), std::string(row.unit), 0, row.terms(query, candidate)};
  for (const PriceTerm& term : price.terms) {
    price.price = std::min(price.price + term.value, static_cast<double>(kInt64Max));  // sums of sentinels saturate
  }
  return price;
}

ExplainedLayout LayoutOf(const Problem& problem, TensorId tensor, const NdSbp& layout, std::string how) {
  ExplainedLayout explained{layout, problem.type(tensor).rank(), std::move(how), {}};
  const Mesh& mesh = problem.mesh;
  for (int64_t position = 0; position < std::min(mesh.num_devices(), kMaxExplainedRanks); ++position) {
    std::vector<int64_t> coordinates = mesh.Coordinates(position);
    std::vector<Range> ranges = LocalSlice(problem.type(tensor).shape, layout, mesh, coordinates);
    explained.slices.push_back({mesh.rank(position), std::move(coordinates), std::move(ranges)});
  }
  return explained;
}

size_t NumUses(const Problem& problem) {
  size_t uses = problem.num_ops();
  for (size_t o = 0; o < problem.num_ops(); ++o) uses += problem.operands(OpId(o)).size();
  return uses;
}

bool HasForced(const Problem& problem, const Plan& plan) {
  const auto strategy = FindStrategy(plan.options.strategy);
  return strategy.ok() && (*strategy)->has_bound && problem.mesh.num_devices() > 1;
}

Result<Assignment> AssignmentOf(const Problem& problem, const Plan& plan) {
  Assignment assignment;
  assignment.sources = plan.source_layouts;
  assignment.reasons = {"as the plan says"};
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    SBP_ASSIGN_OR_RETURN(const uint32_t chosen,
                         FindCandidate(problem, OpId(o), plan.decision(OpId(o)).signature, "the plan"));
    assignment.ops.push_back({.candidate = chosen});
  }
  return assignment;
}

// The alternatives that pins allow, what looks best first.
std::vector<uint32_t> Alternatives(const std::vector<ExplainedCandidate>& candidates) {
  std::vector<uint32_t> asked;
  for (uint32_t c = 0; c < candidates.size(); ++c) {
    if (candidates[c].allowed && !candidates[c].chosen) asked.push_back(c);
  }
  std::stable_sort(asked.begin(), asked.end(),
                   [&](uint32_t a, uint32_t b) { return candidates[a].extra_seconds < candidates[b].extra_seconds; });
  return asked;
}

// How much more than the plan's own sum of prices; `most`: another bound of that. Less, where the plan was chosen for
// its schedule.
ForcedStep MoreThan(const Plan& plan, const ForcedStep& step, std::optional<double> most = {}) {
  const double now = plan.total.seconds();
  const auto rounded = [&](double more) { return std::abs(more) <= kForcedRounding * now ? 0 : more; };
  ForcedStep more{rounded(step.at_least - now), rounded(most ? *most : step.at_most - now)};
  if (more.at_most <= more.at_least + kForcedRounding * now) more.at_least = more.at_most;
  return more;
}

StrategyOptions ForcedOptions(const Plan& plan) {
  StrategyOptions options;
  options.memory_limit = plan.options.memory_limit;
  return options;
}

// What alternatives cost the whole step, in plans of strategies that state a bound.
Status AddForced(const Problem& problem, const Plan& plan, OpId op, std::vector<ExplainedCandidate>& candidates) {
  if (!HasForced(problem, plan)) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const Assignment assignment, AssignmentOf(problem, plan));
  const std::vector<uint32_t> asked = Alternatives(candidates);
  const size_t uses = NumUses(problem);
  const ForcedWork work{.searched = std::clamp(kUsesForced / uses, kLeastForced, kMostForced),
                        .priced = std::max(kUsesPriced / uses, kLeastForced)};
  SBP_ASSIGN_OR_RETURN(const std::vector<ForcedStep> steps,
                       StepsIfForced(problem, assignment, op, asked, work, ForcedOptions(plan)));
  for (size_t i = 0; i < asked.size(); ++i) {
    ExplainedCandidate& candidate = candidates[asked[i]];
    // The plan in which only this op is changed; whether it fits is not known.
    const bool as_changed = i >= work.priced && !plan.options.memory_limit;
    candidate.forced = MoreThan(plan, steps[i], as_changed ? std::optional(candidate.extra_seconds) : std::nullopt);
  }
  return OkStatus();
}

}  // namespace

Result<ExplainedOp> ExplainOp(const Problem& problem, const Plan& plan, OpId op, const ExplainParts& parts) {
  const Op& facts = problem.graph->op(op);
  const CandidateList& list = problem.candidates(op);
  const DecisionRecord& decision = plan.decision(op);
  ExplainedOp explained{facts.name,
                        problem.graph->type_of(facts),
                        Dump(*list.instance),
                        decision.reason,
                        plan.options.strategy,
                        std::string(CriterionOf(plan.options.strategy, plan.options.criterion)),
                        KernelText(plan, op),
                        PinTexts(problem, op),
                        {},
                        {},
                        {},
                        {},
                        {}};
  if (parts.around) {
    explained.neighbours = NeighboursOf(problem, plan, op);
    explained.collectives = CollectivesOf(problem, plan, op);
  }
  if (IsAgain(*problem.graph, facts)) explained.again = WithoutAgain(facts.name);
  SBP_ASSIGN_OR_RETURN(const uint32_t chosen, FindCandidate(problem, op, decision.signature, "the plan"));
  SBP_ASSIGN_OR_RETURN(const std::vector<uint32_t> allowed, AllowedCandidates(problem, op));
  std::vector<NdSbp> produced;
  for (TensorId id : problem.operands(op)) {
    const TensorPin* standing = id.valid() ? problem.demands.standing(id) : nullptr;
    produced.push_back(standing != nullptr ? standing->layout
                       : id.valid()        ? plan.source_layouts[id.index()]
                                           : NdSbp(problem.mesh.num_axes()));
  }
  const CriterionQuery query{&problem, op, &list, produced, allowed};
  NeighbourBoxing neighbours(problem, plan, op);
  CandidateDescriber describer(list, problem.mesh);
  for (const TensorType& type : list.instance->operands) explained.operand_ranks.push_back(type.rank());
  for (const TensorType& type : list.instance->results) explained.result_ranks.push_back(type.rank());
  const bool many_terms = list.candidates.size() * std::max<size_t>(produced.size(), 1) > kMostTerms;
  for (uint32_t c = 0; c < list.candidates.size(); ++c) {
    ExplainedCandidate& candidate = explained.candidates.emplace_back();
    candidate.signature = list.candidates[c].signature;
    candidate.choice = describer.Describe(c);
    candidate.chosen = c == chosen;
    candidate.allowed = std::binary_search(allowed.begin(), allowed.end(), c);
    if (c == chosen || !many_terms) {
      for (const CriterionRow& row : AllCriteria()) candidate.prices.push_back(PriceOf(row, query, c));
    }
    candidate.compute_seconds = problem.ComputeSeconds(op, c) + CutSecondsAround(problem, plan, op, c);  // in a step
    candidate.boxing_seconds = neighbours.BoxingSeconds(candidate.signature);
  }
  const ExplainedCandidate& winner = explained.candidates[chosen];
  const double base = winner.compute_seconds + winner.boxing_seconds;
  for (ExplainedCandidate& candidate : explained.candidates) {
    candidate.extra_seconds = candidate.compute_seconds + candidate.boxing_seconds - base;
  }
  if (parts.forced) SBP_RETURN_IF_ERROR(AddForced(problem, plan, op, explained.candidates));
  return explained;
}

Status AddForced(const Problem& problem, const Plan& plan, std::span<const OpId> ops,
                 std::span<ExplainedOp* const> explained, const ForcedAmong& among) {
  ops = ops.first(std::min(ops.size(), among.work / std::max<size_t>(1, NumUses(problem) * among.candidates)));
  if (ops.empty() || !HasForced(problem, plan)) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const Assignment assignment, AssignmentOf(problem, plan));
  std::vector<ForcedQuestion> questions;
  for (size_t i = 0; i < ops.size(); ++i) {
    std::vector<uint32_t> asked = Alternatives(explained[i]->candidates);
    if (asked.size() > among.candidates) asked.resize(among.candidates);
    questions.push_back({ops[i], std::move(asked)});
  }
  const ForcedWork work{.searched = among.candidates, .priced = among.candidates, .effort = among.effort};
  SBP_ASSIGN_OR_RETURN(const auto answers, StepsIfForced(problem, assignment, questions, work, ForcedOptions(plan)));
  for (size_t i = 0; i < answers.size(); ++i) {
    for (size_t c = 0; c < answers[i].size(); ++c) {
      explained[i]->candidates[questions[i].candidates[c]].forced = MoreThan(plan, answers[i][c]);
    }
  }
  return OkStatus();
}

Result<ExplainedTensor> ExplainTensor(const Problem& problem, const Plan& plan, TensorId tensor) {
  const Graph& graph = *problem.graph;
  const Tensor& facts = graph.tensor(tensor);
  ExplainedTensor explained;
  explained.name = facts.name;
  explained.type = ToString(facts.type);
  explained.role = facts.role == TensorRole::kActivation  ? "activation"
                   : facts.role == TensorRole::kParameter ? "parameter"
                                                          : "input";
  if (const ModuleName* module = problem.names.Find(tensor)) explained.module = module->Text();
  explained.num_devices = problem.mesh.num_devices();
  std::set<std::string> pins;
  AddTensorPins(problem.pins, tensor, pins);
  explained.pins.assign(pins.begin(), pins.end());
  if (facts.role == TensorRole::kParameter) {
    for (const AxisPattern& pattern : PatternReader(plan).Of(tensor)) {
      explained.patterns.push_back(StrCat(plan.mesh.axes[pattern.axis].name, ": ", pattern.text));
    }
  }
  AddReaders(problem, plan, tensor, "tensor", explained.neighbours);
  explained.layouts.push_back(LayoutOf(
      problem, tensor, plan.source_layouts[tensor.index()],
      facts.producer.valid() ? StrCat("as written by ", WriterOf(graph, tensor)) : std::string("as it starts")));
  const Schedule schedule = MakeSchedule(plan);
  for (uint32_t i = 0; i < plan.transitions.size(); ++i) {
    if (plan.transitions[i].tensor != tensor) continue;
    explained.collectives.push_back(Describe(problem, plan, schedule, i));
    const ExplainedCollective& collective = explained.collectives.back();
    explained.layouts.push_back(
        LayoutOf(problem, tensor, collective.to, StrCat("after ", Join(collective.steps, ", "))));
  }
  return explained;
}

namespace {

// Ops whose names end with `name`, as scopes are named by their ends.
std::vector<OpId> OpsByEnd(const Graph& graph, std::string_view name) {
  std::vector<OpId> found;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (NamesScope(name, graph.ops[o].name)) found.emplace_back(o);
  }
  return found;
}

Status NamesSeveral(const Graph& graph, std::string_view name, std::span<const OpId> ops) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  for (const OpId op : ops.first(std::min(ops.size(), kNamed))) names.push_back(Quote(graph.op(op).name));
  return BadInput(StrCat(Quote(name), " is the end of the names of ", ops.size(), " ops: ", Join(names, ", "),
                         ops.size() > kNamed ? ", ..." : ""));
}

}  // namespace

Result<std::string> Explain(const Problem& problem, const Plan& plan, std::string_view name, bool json,
                            const ExplainFormat& format) {
  const NameIndex index(plan.graph);
  const ModuleIndex modules(plan.graph);
  ScopeAnswer scope;
  if (!index.op(name).valid() && !index.tensor(name).valid()) {
    scope = ExplainScope(plan, modules, name, json, format);
    if (!scope.text.empty()) return scope.text;
  }
  const TensorId named = index.tensor(name);
  const bool is_named = index.op(name).valid() || named.valid() || scope.tensor.valid();
  const std::vector<OpId> ends = is_named ? std::vector<OpId>() : OpsByEnd(plan.graph, name);
  if (ends.size() > 1) return NamesSeveral(plan.graph, name, ends);
  if (const OpId op = ends.empty() ? index.op(name) : ends.front(); op.valid()) {
    SBP_ASSIGN_OR_RETURN(const ExplainedOp explained, ExplainOp(problem, plan, op));
    return json ? ExplainedJson(explained, format) : FormatExplained(explained, plan.mesh, format);
  }
  if (const TensorId tensor = named.valid() ? named : scope.tensor; tensor.valid()) {
    SBP_ASSIGN_OR_RETURN(const ExplainedTensor explained, ExplainTensor(problem, plan, tensor));
    return json ? ExplainedJson(explained, format) : FormatExplained(explained, plan.mesh, format);
  }
  std::vector<std::string> known;
  for (const Op& op : plan.graph.ops) known.push_back(op.name);
  for (const Tensor& tensor : plan.graph.tensors) known.push_back(tensor.name);
  std::string near = DidYouMean(name, known);
  if (near.empty() || ReadScopedName(name)) near = modules.DidYouMean(name);
  return BadInput(StrCat("the plan has no op, no tensor and no scope ", Quote(name), near));
}

}  // namespace sbp
