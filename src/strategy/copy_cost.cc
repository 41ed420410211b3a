// copy-cost: the choice that OneFlow 0.9.0 makes.
//
// One mesh axis: candidates that keep most inputs as produced, among them the least copied bytes, among them the first
// registered. Several axes: a candidate that keeps every input, else the least price of `bytes`, the last on ties.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "boxing/boxing.h"
#include "graph/tensor_type.h"
#include "sbp/layout_rows.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "strategy/all_criteria.h"
#include "strategy/prices.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

const TensorType& OperandType(const CriterionQuery& query, size_t operand) {
  return query.problem->type(query.problem->operands(query.op)[operand]);
}

int64_t OperandCost(const CriterionQuery& query, size_t operand, const NdSbp& wanted) {
  return CopyCost(query.produced[operand][0], wanted[0], OperandType(query, operand).num_bytes());
}

// Does the candidate cut some input dimension into more pieces than it has elements?
bool CutsTooFine(const CriterionQuery& query, uint32_t candidate) {
  const Mesh& mesh = query.problem->mesh;
  const auto operands = query.problem->operands(query.op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    Shape left = OperandType(query, i).shape;
    const NdSbp& layout = query.list->candidates[candidate].signature.inputs[i];
    for (int axis = 0; axis < layout.size(); ++axis) {
      if (!layout[axis].is_split()) continue;
      int64_t& size = left[layout[axis].dim()];
      if (size < mesh.size(axis)) return true;
      size /= mesh.size(axis);
    }
  }
  return false;
}

// What one axis compares: inputs that are not kept, then bytes.
using Price = std::pair<int, int64_t>;

Price OneAxisPrice(const CriterionQuery& query, uint32_t candidate) {
  const CandidateSignature& signature = query.list->candidates[candidate].signature;
  const auto operands = query.problem->operands(query.op);
  Price price = {0, 0};
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    if (signature.inputs[i] != query.produced[i]) ++price.first;
    price.second = SaturatingAdd(price.second, OperandCost(query, i, signature.inputs[i]));
  }
  return price;
}

CriterionAnswer ChooseOnOneAxis(const CriterionQuery& query, std::span<const uint32_t> allowed) {
  std::vector<std::pair<Price, uint32_t>> order;
  for (uint32_t c : allowed) order.emplace_back(OneAxisPrice(query, c), c);
  // `allowed` ascends, so comparing the candidate's number after its price lets the first registered win.
  std::partial_sort(order.begin(), order.begin() + std::min<size_t>(2, order.size()), order.end());
  CriterionAnswer answer;
  answer.candidate = order[0].second;
  answer.price = static_cast<double>(order[0].first.second);
  if (order.size() > 1) {
    answer.alternative = static_cast<int32_t>(order[1].second);
    answer.alternative_price = static_cast<double>(order[1].first.second);
  }
  return answer;
}

double MovedBytes(const CriterionQuery& query, size_t operand, const NdSbp& wanted) {
  return BytesPrice(OperandType(query, operand), query.produced[operand], wanted, query.problem->mesh);
}

bool KeepsEveryInput(const CriterionQuery& query, uint32_t candidate) {
  const CandidateSignature& signature = query.list->candidates[candidate].signature;
  const std::vector<bool>& present = query.list->instance->present;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    if (present[i] && signature.inputs[i] != query.produced[i]) return false;
  }
  return true;
}

CriterionAnswer ChooseOnSeveralAxes(const CriterionQuery& query, std::span<const uint32_t> allowed) {
  const SlotPrices prices(query, [&](size_t i, const NdSbp& wanted) { return MovedBytes(query, i, wanted); });
  const auto price_of = [&](uint32_t c) { return prices.Of(c); };
  CriterionAnswer answer = ChooseLeast(allowed, Ties::kLast, price_of);
  const auto kept = std::find_if(allowed.begin(), allowed.end(), [&](uint32_t c) { return KeepsEveryInput(query, c); });
  if (kept == allowed.end() || *kept == answer.candidate) return answer;
  std::vector<uint32_t> others(allowed.begin(), allowed.end());
  std::erase(others, *kept);
  const CriterionAnswer next = ChooseLeast(others, Ties::kLast, price_of);
  return {*kept, static_cast<int32_t>(next.candidate), price_of(*kept), next.price};
}

}  // namespace

CriterionAnswer ChooseByCopyCost(const CriterionQuery& query) {
  std::vector<uint32_t> allowed;
  std::copy_if(query.allowed.begin(), query.allowed.end(), std::back_inserter(allowed),
               [&](uint32_t c) { return !CutsTooFine(query, c); });
  if (allowed.empty()) allowed.assign(query.allowed.begin(), query.allowed.end());
  return query.problem->mesh.num_axes() == 1 ? ChooseOnOneAxis(query, allowed) : ChooseOnSeveralAxes(query, allowed);
}

std::vector<PriceTerm> CopyCostTerms(const CriterionQuery& query, uint32_t candidate) {
  const CandidateSignature& signature = query.list->candidates[candidate].signature;
  const bool one_axis = query.problem->mesh.num_axes() == 1;
  std::vector<PriceTerm> terms;
  const auto operands = query.problem->operands(query.op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    const NdSbp& wanted = signature.inputs[i];
    terms.push_back({TransitionLabel(query, i, wanted),
                     one_axis ? static_cast<double>(OperandCost(query, i, wanted)) : MovedBytes(query, i, wanted)});
  }
  return terms;
}

}  // namespace sbp
