#include "explain/kernel.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "rule/candidates.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"
#include "strategy/transition_reason.h"

namespace sbp {
namespace {

constexpr size_t kShown = 3;

// The plan's candidate of another op; 0 where it is not in the list (a plan that somebody changed).
size_t ChosenOf(const Problem& problem, const Plan& plan, OpId op) {
  const Result<uint32_t> found = FindCandidate(problem, op, plan.decision(op).signature, "the plan");
  return found.ok() ? *found : 0;
}

// Where writer and readers of one tensor lie as given.
class TensorCuts {
 public:
  TensorCuts(const Problem& problem, const Plan& plan, OpId op, size_t candidate)
      : problem_(problem), plan_(plan), op_(op), candidate_(candidate) {}

  double Of(TensorId tensor) const {
    const Tensor& facts = problem_.graph->tensor(tensor);
    if (!facts.producer.valid()) return 0;
    const NdSbp written = SignatureOf(facts.producer).outputs[facts.producer_index];
    const auto [begin, end] = problem_.uses.of(tensor);
    double seconds = 0;
    bool cut = false;
    for (const Use* use = begin; use != end; ++use) {
      if (SignatureOf(use->op).inputs[use->operand] == written) continue;
      cut = true;
      seconds += Runs(use->op) * problem_.OnceCutSeconds(use->op, CandidateOf(use->op), false, use->operand);
    }
    if (!cut) return 0;
    return seconds + Runs(facts.producer) * problem_.OnceCutSeconds(facts.producer, CandidateOf(facts.producer), true,
                                                                    facts.producer_index);
  }

 private:
  double Runs(OpId op) const { return static_cast<double>(problem_.runs.of(op)); }
  size_t CandidateOf(OpId op) const { return op == op_ ? candidate_ : ChosenOf(problem_, plan_, op); }
  Signature SignatureOf(OpId op) const {
    return op == op_ ? Signature(problem_.candidates(op).candidates[candidate_].signature)
                     : plan_.decision(op).signature;
  }

  const Problem& problem_;
  const Plan& plan_;
  OpId op_;
  size_t candidate_;
};

}  // namespace

std::string KernelText(const Plan& plan, OpId op) {
  if (plan.kernels.empty()) return "";
  if (plan.kernels.runs_no_kernel(op)) return "none: its neighbours read and write the operand as it lies";
  const KernelGroup* group = plan.kernels.of(op);
  if (group == nullptr) return "its own";
  std::vector<std::string> others;
  size_t more = 0;
  for (const OpId other : group->ops) {
    if (other == op || plan.kernels.runs_no_kernel(other)) continue;
    if (others.size() < kShown) {
      others.push_back(OpLabel(plan.graph, other));
    } else {
      ++more;
    }
  }
  std::string text = StrCat(GroupKindName(group->kind), ", with ", Join(others, ", "));
  if (more > 0) text += StrCat(" and ", more, " more");
  return StrCat(text, "; as a kernel of its own it would take ", FormatSeconds(plan.decision(op).alone_seconds));
}

double CutSecondsAround(const Problem& problem, const Plan& plan, OpId op, size_t candidate) {
  if (!problem.fusion) return 0;
  const TensorCuts cuts(problem, plan, op, candidate);
  std::vector<TensorId> tensors;
  const auto add = [&](TensorId tensor) {
    if (tensor.valid() && std::ranges::find(tensors, tensor) == tensors.end()) tensors.push_back(tensor);
  };
  const OpFusion& fusion = problem.fusion->of(op);
  const auto operands = problem.operands(op);
  for (size_t i = 0; i < operands.size() && i < fusion.operands.size(); ++i) {
    if (fusion.operands[i] == OpFusion::End::kInside) add(operands[i]);
  }
  if (!fusion.operands.empty()) {
    for (const TensorId result : problem.graph->op(op).outputs) add(result);
  }
  double seconds = 0;
  for (const TensorId tensor : tensors) seconds += cuts.Of(tensor);
  return seconds;
}

}  // namespace sbp
