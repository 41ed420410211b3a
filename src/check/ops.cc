#include "check/ops.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/op_seconds.h"
#include "check/legality.h"
#include "check/pins.h"
#include "cluster/cluster.h"
#include "cost/cost.h"
#include "fusion/kernel_groups.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "graph/literal.h"
#include "graph/sections.h"
#include "graph/tensor_type.h"
#include "plan/plan.h"
#include "plan/transition_runs.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"
#include "rule/rule_set.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

// What the rules say of one kind of op, and of each decision on it. `like` stands for all equal ops.
struct OpKind {
  OpId like;
  RuleInstanceRef instance;  // nullptr: the rules refuse the op
  std::string refusal;
  struct Verdict {
    std::string fault;  // "" when legal
    double seconds = 0, alone_seconds = 0, workspace_bytes = 0;
    Candidate candidate;  // when legal
  };
  std::map<std::pair<uint32_t, uint32_t>, Verdict> by_record;  // and by what a kernel group spares the op
};

class OpChecker {
 public:
  OpChecker(const Plan& plan, const RuleSet& rules, Findings& findings)
      : plan_(plan), graph_(plan.graph), rules_(rules), findings_(findings), pins_(plan, findings), runs_(plan.graph) {
    if (plan.cluster.execution == Execution::kFused)
      fusion_ = FuseOps(plan.graph, rules, {plan.cluster.device.epilogue, plan.cluster.fused_scopes});
  }

  OpTotals Run() {
    OpTotals totals;
    for (size_t o = 0; o < graph_.ops.size(); ++o) CheckOp(OpId(o), totals);
    CheckKernels(totals);
    pins_.CheckOutputs(findings_);
    pins_.ReportUnmatched(findings_);
    return totals;
  }

 private:
  void CheckOp(OpId op, OpTotals& totals) {
    OpKind& kind = KindOf(op);
    const std::string* name = nullptr;
    std::string place;
    const auto where = [&]() -> const std::string& {
      if (name == nullptr) place = PlaceOf(graph_, op);
      return *(name = &place);
    };
    if (kind.instance == nullptr) {
      findings_.Add(where(), "arguments fit no rule", "arguments that the op takes", kind.refusal);
      return;
    }
    CheckResultTypes(op, *kind.instance);
    const uint32_t record = plan_.op_records[op.index()];
    const DecisionRecord& decision = plan_.records[record];
    const auto [verdict, fresh] = kind.by_record.try_emplace({record, fusion_ ? fusion_->kind_of[op.index()] : 0});
    if (fresh) verdict->second = Judge(*kind.instance, decision, fusion_ ? &fusion_->of(op) : nullptr);
    const OpKind::Verdict& v = verdict->second;
    if (!v.fault.empty()) findings_.Add(where(), "signature is not legal", v.fault, ToString(decision.signature));
    if (v.fault.empty() && !SameFigure(v.seconds, decision.compute_seconds)) {
      findings_.Add(where(), "compute seconds", FormatDouble(v.seconds), FormatDouble(decision.compute_seconds));
    }
    if (v.fault.empty() && fusion_ && !SameFigure(v.alone_seconds, decision.alone_seconds)) {
      findings_.Add(where(), "seconds as a kernel of its own", FormatDouble(v.alone_seconds),
                    FormatDouble(decision.alone_seconds));
    }
    CheckWritten(op, decision.signature);
    pins_.Check(op, decision.signature, kind.instance->operand_names, findings_);
    totals.seconds += static_cast<double>(runs_.of(op)) * (v.fault.empty() ? v.seconds : decision.compute_seconds);
    totals.workspace_bytes = std::max(totals.workspace_bytes, v.workspace_bytes);
  }

  // The plan's kernel groups are those of its graph, and transitions pay for those that they cut.
  void CheckKernels(OpTotals& totals) {
    if ((fusion_ ? fusion_->groups : KernelGroups()) != plan_.kernels) {
      findings_.Add("kernel groups", "are not those of the graph", fusion_ ? Count(fusion_->groups) : "none",
                    Count(plan_.kernels));
    }
    const std::vector<int64_t> runs = RunsOfTransitions(plan_, runs_);
    std::vector<bool> written(graph_.tensors.size(), false);
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      const Transition& transition = plan_.transitions[i];
      double seconds = 0;
      for (const Use& use : transition.consumers) seconds += EndSeconds(use.op, false, use.operand);
      const Tensor& tensor = graph_.tensor(transition.tensor);
      if (fusion_ && fusion_->groups.is_inside(transition.tensor) && !written[transition.tensor.index()]) {
        written[transition.tensor.index()] = true;
        seconds += EndSeconds(tensor.producer, true, tensor.producer_index);
      }
      if (!SameFigure(seconds, transition.cut_seconds)) {
        findings_.Add(PlaceOf(graph_, transition.tensor), "seconds of a kernel group that is cut",
                      FormatDouble(seconds), FormatDouble(transition.cut_seconds));
      }
      totals.seconds += static_cast<double>(runs[i]) * seconds;
    }
  }

  static std::string Count(const KernelGroups& kernels) {
    return StrCat(kernels.groups.size(), " groups, ", std::ranges::count(kernels.inside, true), " tensors inside, ",
                  std::ranges::count(kernels.no_kernel, true), " ops without a kernel");
  }

  double EndSeconds(OpId op, bool is_result, size_t slot) {
    if (!fusion_) return 0;
    const OpKind& kind = KindOf(op);
    const auto verdict = kind.by_record.find({plan_.op_records[op.index()], fusion_->kind_of[op.index()]});
    if (kind.instance == nullptr || verdict == kind.by_record.end() || !verdict->second.fault.empty()) return 0;
    return CutSeconds(*kind.instance, verdict->second.candidate, plan_.mesh, plan_.cluster, fusion_->of(op), is_result,
                      slot);
  }

  OpKind::Verdict Judge(const RuleInstance& instance, const DecisionRecord& decision, const OpFusion* fusion) const {
    const LegalityAnswer answer = CheckSignature(instance, decision.signature, plan_.mesh, plan_.options.even_only);
    if (!answer.legal) return {answer.expected};
    return {"", OpSeconds(instance, answer.as_candidate, plan_.mesh, plan_.cluster, fusion),
            OpSeconds(instance, answer.as_candidate, plan_.mesh, plan_.cluster),
            WorkspaceBytes(plan_.cluster.device, WorkOf(instance, answer.as_candidate, plan_.mesh)),
            answer.as_candidate};
  }

  void CheckResultTypes(OpId op, const RuleInstance& instance) {
    const std::vector<TensorId>& outputs = graph_.op(op).outputs;
    for (size_t r = 0; r < outputs.size() && r < instance.results.size(); ++r) {
      if (!outputs[r].valid() || instance.missing_rule) continue;
      const TensorType &derived = instance.results[r], &given = graph_.tensor(outputs[r]).type;
      if (derived.dtype == given.dtype && derived.shape == given.shape) continue;
      findings_.Add(PlaceOf(graph_, op), StrCat("type of result ", Quote(graph_.tensor(outputs[r]).name)),
                    ToString(derived), ToString(given));
    }
  }

  // A tensor starts in the layout that its producer's signature says.
  void CheckWritten(OpId op, const Signature& signature) {
    const std::vector<TensorId>& outputs = graph_.op(op).outputs;
    for (size_t r = 0; r < outputs.size(); ++r) {
      if (!outputs[r].valid()) continue;
      const NdSbp& layout = plan_.source_layouts[outputs[r].index()];
      if (layout == signature.outputs[r]) continue;
      findings_.Add(PlaceOf(graph_, outputs[r]), "layout is not what its producer writes",
                    ToString(signature.outputs[r]), ToString(layout));
    }
  }

  // The first equal op met stands for all.
  OpKind& KindOf(OpId op) {
    const uint64_t hash = HashOf(op);
    std::vector<uint32_t>& alike = by_hash_[hash];
    for (uint32_t k : alike) {
      if (Equal(kinds_[k].like, op)) return kinds_[k];
    }
    alike.push_back(static_cast<uint32_t>(kinds_.size()));
    OpKind& kind = kinds_.emplace_back();
    kind.like = op;
    Result<RuleInstanceRef> instance = rules_.Instantiate(QueryFor(graph_, rules_, graph_.op(op)));
    if (instance.ok()) {
      kind.instance = *instance;
    } else {
      kind.refusal = instance.status().message();
    }
    return kind;
  }

  const Literal* ValueOf(OpId op, size_t operand, TensorId tensor) const {
    const bool reads = tensor.valid() && rules_.ReadsValue(graph_.type_of(graph_.op(op)), operand);
    return reads ? graph_.tensor(tensor).literal.get() : nullptr;
  }

  uint64_t HashOf(OpId id) const {
    const Op& op = graph_.op(id);
    uint64_t hash = HashCombine(op.type, reinterpret_cast<uintptr_t>(op.attributes.get()));
    for (TensorId t : op.inputs) hash = HashCombine(hash, t.valid() ? sbp::HashOf(graph_.tensor(t).type) : 0);
    for (TensorId t : op.outputs) hash = HashCombine(hash, t.valid() ? sbp::HashOf(graph_.tensor(t).type) : 0);
    return hash;
  }

  bool Equal(OpId x, OpId y) const {
    const Op &a = graph_.op(x), &b = graph_.op(y);
    if (a.type != b.type || a.outputs.size() != b.outputs.size()) return false;
    if (a.attributes != b.attributes && !sbp::Equal(*a.attributes, *b.attributes)) return false;
    const std::vector<TensorId> in_a = graph_.OperandsOf(a), in_b = graph_.OperandsOf(b);
    if (in_a.size() != in_b.size()) return false;
    const auto same_type = [&](TensorId s, TensorId t) {
      return s.valid() == t.valid() && (!s.valid() || graph_.tensor(s).type == graph_.tensor(t).type);
    };
    for (size_t i = 0; i < in_a.size(); ++i) {
      if (!same_type(in_a[i], in_b[i])) return false;
      const Literal *v = ValueOf(x, i, in_a[i]), *w = ValueOf(y, i, in_b[i]);
      if (v != w && (v == nullptr || w == nullptr || !(*v == *w))) return false;
    }
    return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), same_type);
  }

  const Plan& plan_;
  const Graph& graph_;
  const RuleSet& rules_;
  Findings& findings_;
  PinChecker pins_;
  StepRuns runs_;
  std::optional<Fusion> fusion_;  // of fused execution
  std::vector<OpKind> kinds_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_hash_;
};

}  // namespace

OpTotals CheckOps(const Plan& plan, const RuleSet& rules, Findings& findings) {
  return OpChecker(plan, rules, findings).Run();
}

}  // namespace sbp
