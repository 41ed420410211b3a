#include "strategy/walk.h"

#include <utility>

#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "plan/pins.h"
#include "problem/problem.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"

namespace sbp {

namespace {
constexpr size_t kReportEvery = 4096;  // ops between two looks at cancelled and progress
}

Walk::Decision DecideOnOneDevice(const CriterionQuery& query) {
  Walk::Decision decision;
  decision.answer.candidate = query.allowed[0];
  if (query.allowed.size() > 1) decision.answer.alternative = static_cast<int32_t>(query.allowed[1]);
  decision.reason = "one device in all: every layout holds the same, S(0) by convention";
  return decision;
}

uint32_t ReasonTable::Add(const std::string& text) {
  const auto [entry, is_new] = known_.try_emplace(text, static_cast<uint32_t>(reasons_.size()));
  if (is_new) reasons_.push_back(text);
  return entry->second;
}

std::span<const uint32_t> Walk::AllCandidates(size_t count) {
  while (iota_.size() < count) iota_.push_back(static_cast<uint32_t>(iota_.size()));
  return {iota_.data(), count};
}

void Walk::MakeKey(OpId op, const ExtraKey& extra_key) {
  produced_.clear();
  batch_.clear();
  for (TensorId id : problem_.operands(op)) {
    produced_.push_back(id.valid() ? layouts_[id.index()] : NdSbp(problem_.mesh.num_axes()));
    batch_.push_back(id.valid() ? problem_.batch_axis[id.index()] : -1);
  }
  for (TensorId id : problem_.graph->op(op).outputs)
    batch_.push_back(id.valid() ? problem_.batch_axis[id.index()] : -1);
  key_ = produced_;
  if (extra_key) extra_key(op, key_);
}

const OpChoice* Walk::Remembered(uint32_t op_class, size_t hash) const {
  const auto [begin, end] = known_by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Known& known = known_[it->second];
    if (known.op_class == op_class && known.layouts == key_ && known.batch == batch_) return &known.choice;
  }
  return nullptr;
}

OpChoice Walk::DecideOne(OpId op, std::span<const uint32_t> allowed, const Decide& decide, ReasonTable& reasons) {
  CriterionQuery query;
  query.problem = &problem_;
  query.op = op;
  query.list = &problem_.candidates(op);
  query.produced = produced_;
  query.allowed = allowed;
  const Decision decision = decide(query);
  return {decision.answer.candidate, decision.answer.alternative, decision.answer.price,
          decision.answer.alternative_price, reasons.Add(decision.reason)};
}

Result<Assignment> Walk::Run(std::vector<NdSbp> sources, const Decide& decide, const ExtraKey& extra_key) {
  Assignment assignment;
  assignment.ops.reserve(problem_.num_ops());
  ReasonTable reasons(assignment.reasons);
  layouts_ = sources;
  for (size_t o = 0; o < problem_.num_ops(); ++o) {
    if (o % kReportEvery == 0) {
      if (options_.cancelled && options_.cancelled()) return NoPlan("planning was interrupted");
      if (options_.progress) options_.progress(static_cast<double>(o) / static_cast<double>(problem_.num_ops()));
    }
    const OpId op(o);
    const uint32_t op_class = problem_.class_of[o];
    MakeKey(op, extra_key);
    OpChoice choice;
    if (IsPinned(problem_, op) || WritesStanding(problem_, op)) {
      SBP_ASSIGN_OR_RETURN(const std::vector<uint32_t> allowed, AllowedCandidates(problem_, op));
      choice = DecideOne(op, allowed, decide, reasons);
    } else {
      const size_t hash = HashRange(HashRange(op_class, key_), batch_);
      const OpChoice* remembered = Remembered(op_class, hash);
      if (remembered != nullptr) {
        choice = *remembered;
      } else {
        choice = DecideOne(op, AllCandidates(problem_.candidates(op).candidates.size()), decide, reasons);
        known_by_hash_.emplace(hash, static_cast<uint32_t>(known_.size()));
        known_.push_back({op_class, key_, batch_, choice});
      }
    }
    assignment.ops.push_back(choice);
    const CandidateSignature& chosen = problem_.candidates(op).candidates[choice.candidate].signature;
    const std::vector<TensorId>& outputs = problem_.graph->op(op).outputs;
    for (size_t r = 0; r < outputs.size(); ++r) {
      if (!outputs[r].valid()) continue;
      const TensorPin* standing = problem_.demands.standing(outputs[r]);
      layouts_[outputs[r].index()] = standing != nullptr ? standing->layout : chosen.outputs[r];
    }
  }
  assignment.sources = std::move(sources);
  return assignment;
}

}  // namespace sbp
