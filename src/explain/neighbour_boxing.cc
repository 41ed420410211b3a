#include "explain/neighbour_boxing.h"

#include <algorithm>

#include "base/ids.h"
#include "boxing/boxing.h"
#include "graph/graph.h"
#include "plan/pins.h"
#include "problem/demands.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "strategy/transitions.h"

namespace sbp {
namespace {

void AddDistinct(std::vector<NdSbp>& layouts, const NdSbp& layout) {
  if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) layouts.push_back(layout);
}

// A layout that is made `runs` times a step; 0: for the tensor's end alone.
void AddWanted(std::vector<CountedLayout>& wanted, const NdSbp& layout, int64_t runs) {
  const auto known = std::ranges::find(wanted, layout, &CountedLayout::layout);
  if (known == wanted.end()) {
    wanted.push_back({layout, runs});
  } else {
    known->runs = std::max(known->runs, runs);
  }
}

}  // namespace

// Two tensors that the op reads once each, in the same way.
bool NeighbourBoxing::IsAlike(const Around& a, const Around& b, const CandidateSignature& signature) {
  return a.others == b.others && a.result < 0 && b.result < 0 && a.operands.size() == 1 && b.operands.size() == 1 &&
         signature.inputs[a.operands[0]] == signature.inputs[b.operands[0]];
}

NeighbourBoxing::NeighbourBoxing(const Problem& problem, const Plan& plan, OpId op) : problem_(problem), op_(op) {
  for (TensorId tensor : problem.operands(op)) AddAround(tensor, plan);
  for (TensorId tensor : problem.graph->op(op).outputs) AddAround(tensor, plan);
}

void NeighbourBoxing::AddAround(TensorId tensor, const Plan& plan) {
  if (!tensor.valid() || !around_of_.try_emplace(tensor, arounds_.size()).second) return;
  Around& around = arounds_.emplace_back();
  const Tensor& facts = problem_.graph->tensor(tensor);
  Others others{.type = facts.type, .written = plan.source_layouts[tensor.index()], .hubs = HubsOf(problem_, tensor)};
  if (const TensorPin* pin = problem_.demands.standing(tensor)) others.standing = pin->layout;
  if (facts.producer == op_) around.result = static_cast<int>(facts.producer_index);
  const auto [begin, end] = problem_.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    if (use->op == op_) {
      around.operands.push_back(use->operand);
    } else {
      AddWanted(others.wanted, plan.decision(use->op).signature.inputs[use->operand], problem_.runs.of(use->op));
    }
  }
  others.end_runs = problem_.runs.end(tensor);
  const EndRule rule = problem_.demands.end(tensor);
  if (rule.kind == EndRule::Kind::kTied)
    AddWanted(others.wanted, plan.source_layouts[rule.tied.index()], others.end_runs);
  if (rule.kind == EndRule::Kind::kWhole) AddWanted(others.wanted, NdSbp(problem_.mesh.num_axes()), 0);
  others.not_partial = rule.kind == EndRule::Kind::kNotPartial;
  if (others_.empty() || others_.back() != others) {  // neighbouring operands are alike, if any are
    others_.push_back(std::move(others));
    known_.emplace_back();
  }
  around.others = others_.size() - 1;
}

double NeighbourBoxing::Seconds(const Around& around, const CandidateSignature& signature) {
  const Others& others = others_[around.others];
  const NdSbp& written = around.result >= 0 ? signature.outputs[around.result] : others.written;
  std::vector<NdSbp> own;  // distinct: one op may read a tensor very often
  for (const size_t operand : around.operands) AddDistinct(own, signature.inputs[operand]);
  std::vector<NdSbp> key = own;
  key.push_back(written);
  const auto [entry, is_new] = known_[around.others].try_emplace(std::move(key), 0);
  if (is_new) entry->second = SecondsOf(others, written, own);
  return entry->second;
}

double NeighbourBoxing::SecondsOf(const Others& others, const NdSbp& written, const std::vector<NdSbp>& own) {
  std::vector<CountedLayout> wanted = others.wanted;
  for (const NdSbp& layout : own) AddWanted(wanted, layout, problem_.runs.of(op_));
  return SecondsOfStep(others.type, written, others.standing ? *others.standing : written, wanted, others.hubs,
                       *problem_.boxing, others.not_partial, others.end_runs);
}

double NeighbourBoxing::BoxingSeconds(const CandidateSignature& signature) {
  double seconds = 0, last = 0;
  const Around* before = nullptr;
  for (const Around& around : arounds_) {
    if (before == nullptr || !IsAlike(*before, around, signature)) last = Seconds(around, signature);
    seconds += last;
    before = &around;
  }
  return seconds;
}

}  // namespace sbp
