#include "strategy/optimal/candidate_lists.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/ids.h"
#include "base/status.h"
#include "plan/pins.h"
#include "rule/candidates.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

using KindSet = uint8_t;  // a bit per ReduceKind

// The idempotent kinds of partial values on any axis.
KindSet IdempotentKinds(const NdSbp& layout) {
  KindSet kinds = 0;
  for (const Sbp sbp : layout) {
    if (sbp.is_partial() && IsIdempotent(sbp.reduce_kind()))
      kinds |= static_cast<KindSet>(1u << static_cast<int>(sbp.reduce_kind()));
  }
  return kinds;
}

class ListMaker {
 public:
  explicit ListMaker(const Problem& problem) : problem_(problem), lists_(problem) {
    for (int axis = 0; axis < problem.mesh.num_axes(); ++axis) {
      if (problem.mesh.size(axis) == 1) unit_axes_.push_back(axis);
    }
  }

  Result<CandidateLists> Run() && {
    kinds_of_tensor_.assign(problem_.graph->tensors.size(), 0);
    for (const auto& [tensor, pin] : problem_.pins.tensors)
      kinds_of_tensor_[tensor.index()] = IdempotentKinds(pin.layout);
    for (size_t o = 0; o < problem_.num_ops(); ++o) {
      const OpId op(o);
      if (IsPinned(problem_, op)) {
        SBP_ASSIGN_OR_RETURN(std::vector<uint32_t> allowed, AllowedCandidates(problem_, op));
        const std::vector<Candidate>& all = problem_.candidates(op).candidates;
        const auto idle = [&](uint32_t c) { return IsIdle(all[c]); };
        if (std::ranges::any_of(allowed, idle)) std::erase_if(allowed, [&](uint32_t c) { return !idle(c); });
        lists_.Add(op, std::move(allowed));
        NoteKinds(op, lists_.of(op));
      } else {
        const Worth& worth = WorthALook(op);
        lists_.Add(op, worth.kept);
        const std::vector<TensorId>& outputs = problem_.graph->op(op).outputs;
        for (size_t r = 0; r < outputs.size(); ++r) {
          if (outputs[r].valid()) kinds_of_tensor_[outputs[r].index()] |= worth.kinds[r];
        }
      }
      NoteStanding(op);
    }
    return std::move(lists_);
  }

 private:
  struct Worth {
    CandidateLists::List kept;
    std::vector<KindSet> kinds;  // per result, that `kept` may leave
  };
  struct Hash {
    size_t operator()(const std::vector<uint32_t>& key) const { return HashRange(key.size(), key); }
  };

  std::vector<KindSet> KindsLeft(OpId op, const CandidateLists::List& list) const {
    const size_t num_results = problem_.graph->op(op).outputs.size();
    std::vector<KindSet> kinds(num_results, 0);
    for (const uint32_t c : list) {
      const CandidateSignature& signature = problem_.candidates(op).candidates[c].signature;
      for (size_t r = 0; r < num_results; ++r) kinds[r] |= IdempotentKinds(signature.outputs[r]);
    }
    return kinds;
  }

  // Readers start from where a pin says that the tensor lies, whatever is written.
  void NoteStanding(OpId op) {
    for (const TensorId output : problem_.graph->op(op).outputs) {
      const TensorPin* pin = output.valid() ? problem_.demands.standing(output) : nullptr;
      if (pin != nullptr) kinds_of_tensor_[output.index()] = IdempotentKinds(pin->layout);
    }
  }

  void NoteKinds(OpId op, const CandidateLists::List& list) {
    const std::vector<KindSet> kinds = KindsLeft(op, list);
    const std::vector<TensorId>& outputs = problem_.graph->op(op).outputs;
    for (size_t r = 0; r < outputs.size(); ++r) {
      if (outputs[r].valid()) kinds_of_tensor_[outputs[r].index()] |= kinds[r];
    }
  }

  // On an axis of one rank all layouts hold the same, and boxing between them is for nothing: one of them will do.
  bool IsIdle(const Candidate& candidate) const {
    const auto whole = [&](const LayoutRows& layouts) {
      for (size_t i = 0; i < layouts.size(); ++i) {
        for (const int axis : unit_axes_) {
          if (!layouts[i][axis].is_broadcast()) return false;
        }
      }
      return true;
    };
    return whole(candidate.signature.inputs) && whole(candidate.signature.outputs);
  }

  // Boxing to P(max) or P(min) passes through B. A candidate that takes an operand so where its producer never leaves
  // it so is therefore no better than the one that takes it whole on that axis, and is left out.
  const Worth& WorthALook(OpId op) {
    const std::span<const TensorId> operands = problem_.operands(op);
    std::vector<uint32_t> key = {problem_.class_of[op.index()]};
    for (const TensorId operand : operands) key.push_back(operand.valid() ? kinds_of_tensor_[operand.index()] : 0);
    const auto [entry, is_new] = worth_.try_emplace(std::move(key));
    if (!is_new) return entry->second;
    const std::vector<Candidate>& all = problem_.candidates(op).candidates;
    for (uint32_t c = 0; c < all.size(); ++c) {
      KindSet asked = 0, there = 0;
      for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i].valid()) continue;
        const KindSet kinds = IdempotentKinds(all[c].signature.inputs[i]);
        asked |= kinds;
        there |= kinds & kinds_of_tensor_[operands[i].index()];
      }
      if (asked == there && IsIdle(all[c])) entry->second.kept.push_back(c);
    }
    entry->second.kinds = KindsLeft(op, entry->second.kept);
    return entry->second;
  }

  const Problem& problem_;
  CandidateLists lists_;
  std::vector<int> unit_axes_;
  std::vector<KindSet> kinds_of_tensor_;  // that its producer may leave
  std::unordered_map<std::vector<uint32_t>, Worth, Hash> worth_;
};

}  // namespace

Result<CandidateLists> CandidateLists::All(const Problem& problem) { return ListMaker(problem).Run(); }

void CandidateLists::Add(OpId op, List list) {
  list.push_back(problem_->class_of[op.index()]);
  const auto known = known_.find(list);
  if (known != known_.end()) {
    number_.push_back(known->second);
    return;
  }
  const auto number = static_cast<uint32_t>(lists_.size());
  known_.emplace(list, number);
  list.pop_back();
  lists_.push_back(std::make_shared<const List>(std::move(list)));
  number_.push_back(number);
}

}  // namespace sbp
