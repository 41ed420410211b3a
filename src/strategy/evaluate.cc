#include "strategy/evaluate.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/op_seconds.h"
#include "cluster/cluster.h"
#include "cost/cost.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "memory/memory.h"
#include "memory/prefetch.h"
#include "memory/shrink.h"
#include "naming/buffer_label.h"
#include "plan/pins.h"
#include "plan/transition_runs.h"
#include "problem/demands.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "rule/in_place.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "strategy/transition_reason.h"
#include "strategy/transitions.h"

namespace sbp {
namespace {

const Candidate& ChosenCandidate(const Problem& problem, const Assignment& assignment, OpId op) {
  return problem.candidates(op).candidates[assignment.ops[op.index()].candidate];
}

// Equal decisions of equal ops share a record.
class RecordTable {
 public:
  RecordTable(const Problem& problem, const Assignment& assignment, Plan& plan)
      : problem_(problem), assignment_(assignment), plan_(plan) {}

  uint32_t Add(OpId op) {
    const OpChoice& choice = assignment_.ops[op.index()];
    const uint32_t op_class = problem_.class_of[op.index()];
    size_t hash = HashCombine(op_class, choice.candidate);
    hash = HashCombine(hash, HashOf(choice.price));
    hash = HashCombine(hash, choice.reason);
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (keys_[it->second].first == op_class && Same(keys_[it->second].second, choice)) return it->second;
    }
    const uint32_t index = static_cast<uint32_t>(keys_.size());
    by_hash_.emplace(hash, index);
    keys_.emplace_back(op_class, choice);
    plan_.records.push_back(Make(op, choice));
    return index;
  }

 private:
  static bool Same(const OpChoice& a, const OpChoice& b) {
    return a.candidate == b.candidate && a.alternative == b.alternative && a.price == b.price &&
           a.alternative_price == b.alternative_price && a.reason == b.reason;
  }

  DecisionRecord Make(OpId op, const OpChoice& choice) const {
    const CandidateList& list = problem_.candidates(op);
    DecisionRecord record;
    record.signature = list.candidates[choice.candidate].signature;
    record.compute_seconds = problem_.OnceSeconds(op, choice.candidate);
    if (problem_.fusion) {
      record.alone_seconds =
          OpSeconds(*list.instance, list.candidates[choice.candidate], problem_.mesh, problem_.boxing->cluster());
    }
    record.choice = DescribeCandidate(list, choice.candidate, problem_.mesh);
    record.reason = assignment_.reasons[choice.reason];
    record.price = choice.price;
    if (choice.alternative >= 0) {
      record.alternative = list.candidates[choice.alternative].signature;
      record.alternative_price = choice.alternative_price;
    }
    record.price_unit = assignment_.price_unit;
    record.num_candidates = static_cast<uint32_t>(list.candidates.size());
    return record;
  }

  const Problem& problem_;
  const Assignment& assignment_;
  Plan& plan_;
  std::vector<std::pair<uint32_t, OpChoice>> keys_;
  std::unordered_multimap<size_t, uint32_t> by_hash_;
};

void RecordDecisions(const Problem& problem, const Assignment& assignment, Plan& plan) {
  RecordTable records(problem, assignment, plan);
  plan.op_records.reserve(problem.num_ops());
  plan.source_layouts = assignment.sources;
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const OpId op(o);
    plan.op_records.push_back(records.Add(op));
    const auto runs = static_cast<double>(problem.runs.of(op));
    plan.total.compute_seconds += runs * plan.records[plan.op_records.back()].compute_seconds;
    const CandidateSignature& signature = ChosenCandidate(problem, assignment, op).signature;
    const std::vector<TensorId>& outputs = problem.graph->op(op).outputs;
    for (size_t r = 0; r < outputs.size(); ++r) {
      if (outputs[r].valid()) plan.source_layouts[outputs[r].index()] = signature.outputs[r];
    }
  }
}

// Adds a demand, or joins that of the same layout.
void AddDemand(TensorDemands& demands, const NdSbp& layout, uint32_t time, const Use* use, const std::string& by) {
  demands.wanted = true;
  Demand* found = &demands.as_it_stands;
  found->first = std::min(found->first, time);
  if (layout != demands.standing) {
    const auto known =
        std::ranges::find_if(demands.boxed, [&](const Demand& demand) { return demand.layout == layout; });
    found = known != demands.boxed.end() ? &*known : &demands.boxed.emplace_back(Demand{layout, {}, time});
  }
  const bool is_made = found != &demands.as_it_stands || demands.standing != demands.written;
  if (use != nullptr && is_made) found->consumers.push_back(*use);
  if (!by.empty()) found->by += StrCat(found->by.empty() ? "" : " and ", by);
}

TensorDemands DemandsOn(const Problem& problem, const Assignment& assignment, TensorId tensor, const Plan& plan) {
  const auto end = static_cast<uint32_t>(problem.num_ops());
  TensorDemands demands;
  demands.written = demands.standing = plan.source_layouts[tensor.index()];
  demands.as_it_stands.first = end;
  if (const TensorPin* pin = problem.demands.standing(tensor); pin != nullptr) {
    demands.standing = pin->layout;
    demands.as_it_stands.by = StrCat("the pin ", pin->text);
    demands.wanted = problem.is_output[tensor.index()];
  }
  const auto [begin, last] = problem.uses.of(tensor);
  for (const Use* use = begin; use != last; ++use) {
    const NdSbp& wanted = ChosenCandidate(problem, assignment, use->op).signature.inputs[use->operand];
    AddDemand(demands, wanted, use->op.value, use, "");
  }
  switch (const EndRule rule = problem.demands.end(tensor); rule.kind) {
    case EndRule::Kind::kNone:
      break;
    case EndRule::Kind::kTied:
      AddDemand(demands, plan.source_layouts[rule.tied.index()], end, nullptr,
                StrCat("the tie to ", Quote(problem.graph->tensor(rule.tied).name)));
      break;
    case EndRule::Kind::kWhole:
      AddDemand(demands, NdSbp(problem.mesh.num_axes()), end, nullptr,
                StrCat("graph output ", Quote(problem.graph->tensor(tensor).name), ", which must end whole"));
      break;
    case EndRule::Kind::kNotPartial:
      demands.wanted = demands.not_partial = true;
      break;
  }
  return demands;
}

// How the tensor ends, where `made` is what MakeTransitions says.
NdSbp EndOf(const Problem& problem, TensorId tensor, const NdSbp& made, const Plan& plan) {
  const EndRule rule = problem.demands.end(tensor);
  if (rule.kind == EndRule::Kind::kTied) return plan.source_layouts[rule.tied.index()];
  return rule.kind == EndRule::Kind::kWhole ? NdSbp(problem.mesh.num_axes()) : made;
}

// What transitions inside kernel groups take from them: readers' ends with each, the writer's with the tensor's first.
void PriceCuts(const Problem& problem, const Assignment& assignment, Plan& plan) {
  std::unordered_set<TensorId> written;
  for (Transition& transition : plan.transitions) {
    for (const Use& use : transition.consumers) {
      transition.cut_seconds +=
          problem.OnceCutSeconds(use.op, assignment.ops[use.op.index()].candidate, false, use.operand);
    }
    const Tensor& tensor = plan.graph.tensor(transition.tensor);
    if (!plan.kernels.is_inside(transition.tensor) || !written.insert(transition.tensor).second) continue;
    transition.cut_seconds += problem.OnceCutSeconds(tensor.producer, assignment.ops[tensor.producer.index()].candidate,
                                                     true, tensor.producer_index);
  }
}

Status InsertBoxing(const Problem& problem, const Assignment& assignment, bool reasons, Plan& plan) {
  const Graph& graph = *problem.graph;
  std::vector<TimedTransition> timed;
  std::vector<NdSbp> ends = plan.source_layouts;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId tensor(t);
    const TensorDemands demands = DemandsOn(problem, assignment, tensor, plan);
    if (demands.boxed.empty() && demands.standing == demands.written &&
        !(demands.not_partial && demands.standing.has_partial())) {
      continue;  // the most common case
    }
    const size_t first = timed.size();
    const bool several = demands.boxed.size() + (demands.not_partial ? 1 : 0) > 1;
    const std::vector<NdSbp> hubs = several ? HubsOf(problem, tensor) : std::vector<NdSbp>();
    NdSbp end;
    SBP_RETURN_IF_ERROR(MakeTransitions(tensor, graph.tensors[t], demands, hubs, problem, timed, end));
    ends[t] = EndOf(problem, tensor, end, plan);
    for (size_t i = first; reasons && i < timed.size(); ++i) {
      timed[i].transition.reason =
          TransitionReason(problem, assignment, timed[i].transition, demands.written, timed[i].by);
    }
  }
  plan.output_layouts.clear();
  for (const TensorId output : graph.outputs) plan.output_layouts.push_back(ends[output.index()]);
  std::vector<uint32_t> order(timed.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return timed[a].time < timed[b].time; });
  plan.transitions.reserve(timed.size());
  for (uint32_t i : order) {
    plan.transitions.push_back(std::move(timed[i].transition));
  }
  if (problem.fusion) PriceCuts(problem, assignment, plan);
  const std::vector<int64_t> runs = RunsOfTransitions(plan, problem.runs);
  for (size_t i = 0; i < runs.size(); ++i) {
    plan.total.compute_seconds += static_cast<double>(runs[i]) * plan.transitions[i].cut_seconds;
    plan.total.collective_seconds += static_cast<double>(runs[i]) * plan.transitions[i].seconds;
    plan.total.bytes_moved += static_cast<double>(runs[i]) * plan.transitions[i].wire_bytes;
  }
  return OkStatus();
}

std::string WhyReplicated(const CandidateList& list) {
  const RuleInstance& instance = *list.instance;
  if (!instance.reason.empty()) return instance.reason;
  if (!instance.map.notes.empty()) return Join(instance.map.notes, "; ");
  return "no factor of it is large enough to split over an axis of this mesh";
}

// Results of more than one element that no candidate of their op splits or leaves partial.
void ListReplicated(const Problem& problem, Plan& plan) {
  if (problem.mesh.num_devices() == 1) return;
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const OpClass& op_class = problem.class_at(OpId(o));
    const Op& op = problem.graph->ops[o];
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid() || problem.type(op.outputs[r]).num_elements() <= 1) continue;
      const std::vector<NdSbp>& layouts = op_class.results[r].layouts;
      if (layouts.size() > 1 || !layouts[0].is_broadcast()) continue;
      plan.replicated.push_back(
          {op.outputs[r], StrCat(OpLabel(*problem.graph, OpId(o)), ": ", WhyReplicated(*op_class.list))});
    }
  }
}

// The largest of the ops', each kind of decision asked once.
int64_t Workspace(const Problem& problem, const Assignment& assignment, const Plan& plan) {
  const DeviceSpec& device = problem.boxing->cluster().device;
  if (device.op_samples.empty()) return 0;
  std::vector<bool> asked(plan.records.size());
  double most = 0;
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const uint32_t record = plan.op_records[o];
    if (asked[record]) continue;
    asked[record] = true;
    const Work work =
        WorkOf(*problem.candidates(OpId(o)).instance, ChosenCandidate(problem, assignment, OpId(o)), problem.mesh);
    most = std::max(most, WorkspaceBytes(device, work));
  }
  return static_cast<int64_t>(most);
}

// In-place writes and memory of the plan in its order.
void SetMemory(const Problem& problem, int64_t workspace, Plan& plan) {
  const StepOrder order = OrderOfStep(plan);
  const auto pairs = [&](OpId op) { return std::span<const InPlacePair>(problem.class_at(op).in_place); };
  plan.memory = PeakMemory(plan, order, WriteInPlace(plan, order, pairs));
  plan.memory.workspace_bytes = workspace;
  plan.memory.peak_bytes = SaturatingAdd(plan.memory.peak_bytes, workspace);
}

void SetAhead(const std::vector<OpId>& ops, Plan& plan) {
  for (size_t i = 0; i < ops.size(); ++i) plan.transitions[i].ahead_of = ops[i];
}

Status CheckMemoryLimit(const Problem& problem, const Plan& plan) {
  if (!plan.options.memory_limit || plan.memory.peak_bytes <= *plan.options.memory_limit) return OkStatus();
  std::string holders;
  const NameIndex index(plan.graph);
  for (const MemoryHolder& holder : plan.memory.holders) {
    holders += StrCat("\n  ", FormatBytes(static_cast<double>(holder.bytes)), "  ", holder.kind, " ",
                      BufferLabel(plan.graph, index, problem.names, holder.name));
  }
  if (plan.memory.workspace_bytes > 0) {
    holders += StrCat("\n  ", FormatBytes(static_cast<double>(plan.memory.workspace_bytes)), "  workspace of kernels");
  }
  const std::string at = plan.memory.peak_op.valid() ? StrCat(" at ", OpLabel(plan.graph, plan.memory.peak_op)) : "";
  return NoPlanFits(StrCat("the plan needs ", FormatBytes(static_cast<double>(plan.memory.peak_bytes)), " per device",
                           at, ", more than --memory-limit ",
                           FormatBytes(static_cast<double>(*plan.options.memory_limit)),
                           "; the largest holders:", holders));
}

}  // namespace

Status Evaluate(const Problem& problem, const Assignment& assignment, Plan& plan, const EvaluateOptions& options) {
  plan.records.clear();
  plan.op_records.clear();
  plan.transitions.clear();
  plan.output_layouts.clear();
  plan.replicated.clear();
  plan.total = Cost();
  plan.kernels = problem.fusion ? problem.fusion->groups : KernelGroups();
  RecordDecisions(problem, assignment, plan);
  SBP_RETURN_IF_ERROR(InsertBoxing(problem, assignment, options.reasons, plan));
  if (options.reasons) ListReplicated(problem, plan);
  plan.conflicts = assignment.conflicts;
  plan.lower_bound_seconds = assignment.lower_bound_seconds;
  plan.has_bound = assignment.has_bound;
  plan.schedule_bound_seconds = assignment.schedule_bound_seconds;
  plan.uniformity_cost = assignment.uniformity_cost;
  plan.cut_short = assignment.cut_short;
  if (!options.memory) return OkStatus();
  const int64_t workspace = Workspace(problem, assignment, plan);
  SetMemory(problem, workspace, plan);
  if (plan.transitions.empty()) return CheckMemoryLimit(problem, plan);
  std::vector<OpId> shrunk(plan.transitions.size());
  const int64_t peak = plan.memory.peak_bytes;
  const int64_t most = plan.options.memory_limit.value_or(options.room.value_or(kInt64Max));
  if ((peak > most || options.shrinks) && ShrinkEarly(plan)) {
    SetMemory(problem, workspace, plan);
    if (plan.memory.peak_bytes < peak) {
      std::ranges::transform(plan.transitions, shrunk.begin(), &Transition::ahead_of);
    } else {
      SetAhead(shrunk, plan);
      SetMemory(problem, workspace, plan);
    }
  }
  if (!options.ahead) return CheckMemoryLimit(problem, plan);
  const int64_t room = RoomAhead(plan, plan.memory.peak_bytes);
  SendAhead(plan, room - workspace);
  SetMemory(problem, workspace, plan);
  if (plan.memory.peak_bytes > room) {  // other in-place writes than were counted with
    SetAhead(shrunk, plan);
    SetMemory(problem, workspace, plan);
  }
  return CheckMemoryLimit(problem, plan);
}

}  // namespace sbp
