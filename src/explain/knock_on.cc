#include "explain/knock_on.h"

#include <algorithm>
#include <limits>

#include "strategy/transitions.h"

namespace sbp {
namespace {

constexpr size_t kMostKnown = 200'000;  // of all tensors: one op may have 100,000 operands

void AddDistinct(std::vector<NdSbp>& layouts, const NdSbp& layout) {
  if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) layouts.push_back(layout);
}

}  // namespace

KnockOn::KnockOn(const Problem& problem, const Plan& plan, OpId op) : problem_(problem), op_(op) {
  for (TensorId tensor : problem.operands(op)) AddAround(tensor, plan);
  for (TensorId tensor : problem.graph->op(op).outputs) AddAround(tensor, plan);
}

void KnockOn::AddAround(TensorId tensor, const Plan& plan) {
  if (!tensor.valid() || !around_of_.try_emplace(tensor, arounds_.size()).second) return;
  Around& around = arounds_.emplace_back();
  around.tensor = tensor;
  around.written = plan.source_layouts[tensor.index()];
  around.hubs = HubsOf(problem_, tensor);
  const Tensor& facts = problem_.graph->tensor(tensor);
  if (facts.producer == op_) around.result = static_cast<int>(facts.producer_index);
  const auto [begin, end] = problem_.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    if (use->op == op_) {
      around.operands.push_back(use->operand);
    } else {
      AddDistinct(around.wanted_by_others, plan.decision(use->op).signature.inputs[use->operand]);
    }
  }
  const EndRule rule = problem_.demands.end(tensor);
  if (rule.kind == EndRule::Kind::kTied) AddDistinct(around.wanted_by_others, plan.source_layouts[rule.tied.index()]);
  if (rule.kind == EndRule::Kind::kWhole) AddDistinct(around.wanted_by_others, NdSbp(problem_.mesh.num_axes()));
  around.not_partial = rule.kind == EndRule::Kind::kNotPartial;
}

double KnockOn::Seconds(Around& around, const CandidateSignature& signature) {
  const NdSbp written = around.result >= 0 ? signature.outputs[around.result] : around.written;
  std::vector<NdSbp> own;  // distinct: one op may read a tensor very often
  for (size_t operand : around.operands) AddDistinct(own, signature.inputs[operand]);
  std::vector<NdSbp> key = own;
  key.push_back(written);
  if (const auto known = around.known.find(key); known != around.known.end()) return known->second;
  const double seconds = SecondsOf(around, written, own);
  if (num_known_ < kMostKnown) {
    around.known.emplace(std::move(key), seconds);
    ++num_known_;
  }
  return seconds;
}

double KnockOn::SecondsOf(const Around& around, const NdSbp& written, const std::vector<NdSbp>& own) {
  std::vector<NdSbp> wanted = around.wanted_by_others;
  for (const NdSbp& layout : own) AddDistinct(wanted, layout);
  const TensorType& type = problem_.graph->tensor(around.tensor).type;
  BoxingTable& boxing = *problem_.boxing;
  const TensorPin* pin = problem_.demands.standing(around.tensor);
  const NdSbp standing = pin == nullptr ? written : pin->layout;
  std::erase(wanted, standing);
  const BoxingPath& to_standing = boxing.Path(type, written, standing);
  if (!to_standing.reachable) return std::numeric_limits<double>::infinity();
  return to_standing.seconds + FindBestHub(type, standing, wanted, around.hubs, boxing, around.not_partial).seconds;
}

double KnockOn::BoxingSeconds(const CandidateSignature& signature) {
  double seconds = 0;
  for (Around& around : arounds_) seconds += Seconds(around, signature);
  return seconds;
}

}  // namespace sbp
