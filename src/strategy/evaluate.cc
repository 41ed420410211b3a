#include "strategy/evaluate.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/checked_math.h"
#include "base/hash.h"
#include "base/text.h"
#include "boxing/op_seconds.h"
#include "memory/memory.h"
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
    record.compute_seconds = problem_.ComputeSeconds(op, choice.candidate);
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
    plan.total.compute_seconds += plan.records[plan.op_records.back()].compute_seconds;
    const Signature& signature = ChosenCandidate(problem, assignment, op).signature;
    const std::vector<TensorId>& outputs = problem.graph->op(op).outputs;
    for (size_t r = 0; r < outputs.size(); ++r) {
      if (outputs[r].valid()) plan.source_layouts[outputs[r].index()] = signature.outputs[r];
    }
  }
}

Demand& DemandFor(std::vector<Demand>& demands, const NdSbp& layout, uint32_t time) {
  for (Demand& demand : demands) {
    if (demand.layout == layout) return demand;
  }
  return demands.emplace_back(Demand{layout, {}, time});
}

// Ties by the tensor that must come to lie like another.
using TieMap = std::unordered_map<TensorId, TensorId>;

std::vector<Demand> DemandsOn(const Problem& problem, const Assignment& assignment, TensorId tensor, const Plan& plan,
                              const TieMap& ties) {
  std::vector<Demand> demands;
  const NdSbp& written = plan.source_layouts[tensor.index()];
  const auto [begin, end] = problem.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    const NdSbp& wanted = ChosenCandidate(problem, assignment, use->op).signature.inputs[use->operand];
    if (wanted != written) DemandFor(demands, wanted, use->op.value).consumers.push_back(*use);
  }
  if (const auto tie = ties.find(tensor); tie != ties.end()) {
    const NdSbp& wanted = plan.source_layouts[tie->second.index()];
    if (wanted != written) DemandFor(demands, wanted, static_cast<uint32_t>(problem.num_ops()));
  }
  return demands;
}

Status InsertBoxing(const Problem& problem, const Assignment& assignment, bool reasons, Plan& plan) {
  const Graph& graph = *problem.graph;
  TieMap ties;
  for (const Tie& tie : graph.ties) ties.emplace(tie.output, tie.input);
  std::vector<TimedTransition> timed;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId tensor(t);
    const std::vector<Demand> demands = DemandsOn(problem, assignment, tensor, plan, ties);
    if (demands.empty()) continue;
    const size_t first = timed.size();
    const NdSbp& written = plan.source_layouts[t];
    const std::vector<NdSbp> hubs = demands.size() < 2 ? std::vector<NdSbp>() : HubsOf(problem, tensor);
    SBP_RETURN_IF_ERROR(MakeTransitions(tensor, graph.tensors[t], written, demands, hubs, *problem.boxing, timed));
    const auto tie = ties.find(tensor);
    for (size_t i = first; reasons && i < timed.size(); ++i) {
      Transition& transition = timed[i].transition;
      const bool tied = tie != ties.end() && transition.to == plan.source_layouts[tie->second.index()];
      transition.reason = TransitionReason(problem, assignment, transition, written, tied ? tie->second : TensorId());
    }
  }
  std::vector<uint32_t> order(timed.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return timed[a].time < timed[b].time; });
  plan.transitions.reserve(timed.size());
  for (uint32_t i : order) {
    plan.total.collective_seconds += timed[i].transition.seconds;
    plan.total.bytes_moved += timed[i].transition.wire_bytes;
    plan.transitions.push_back(std::move(timed[i].transition));
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

Status CheckMemoryLimit(const Plan& plan) {
  if (!plan.options.memory_limit || plan.memory.peak_bytes <= *plan.options.memory_limit) return OkStatus();
  std::string holders;
  for (const MemoryHolder& holder : plan.memory.holders) {
    holders += StrCat("\n  ", FormatBytes(static_cast<double>(holder.bytes)), "  ", holder.kind, " ", holder.name);
  }
  if (plan.memory.workspace_bytes > 0) {
    holders += StrCat("\n  ", FormatBytes(static_cast<double>(plan.memory.workspace_bytes)), "  workspace of kernels");
  }
  const std::string at = plan.memory.peak_op.valid() ? StrCat(" at ", OpLabel(plan.graph, plan.memory.peak_op)) : "";
  return NoPlan(StrCat("the plan needs ", FormatBytes(static_cast<double>(plan.memory.peak_bytes)), " per device", at,
                       ", more than --memory-limit ", FormatBytes(static_cast<double>(*plan.options.memory_limit)),
                       "; the largest holders:", holders));
}

}  // namespace

Status Evaluate(const Problem& problem, const Assignment& assignment, Plan& plan, const EvaluateOptions& options) {
  plan.records.clear();
  plan.op_records.clear();
  plan.transitions.clear();
  plan.replicated.clear();
  plan.total = Cost();
  RecordDecisions(problem, assignment, plan);
  SBP_RETURN_IF_ERROR(InsertBoxing(problem, assignment, options.reasons, plan));
  if (options.reasons) ListReplicated(problem, plan);
  plan.conflicts = assignment.conflicts;
  plan.lower_bound_seconds = assignment.lower_bound_seconds;
  plan.has_bound = assignment.has_bound;
  plan.cut_short = assignment.cut_short;
  if (!options.memory) return OkStatus();
  const StepOrder order = OrderOfStep(plan);
  plan.memory = PeakMemory(plan, order, Lifetimes(plan, order));
  plan.memory.workspace_bytes = Workspace(problem, assignment, plan);
  plan.memory.peak_bytes = SaturatingAdd(plan.memory.peak_bytes, plan.memory.workspace_bytes);
  return CheckMemoryLimit(plan);
}

}  // namespace sbp
