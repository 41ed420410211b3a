#include "strategy/prices.h"

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "plan/pins.h"
#include "problem/problem.h"
#include "rule/factor_map.h"
#include "sbp/sbp.h"

namespace sbp {

namespace {

// What one operand's prices depend on.
struct OperandKind {
  size_t row = 0;
  NdSbp produced, also;
  int batch = -1;
  TensorType type;
  friend bool operator==(const OperandKind&, const OperandKind&) = default;
};

struct OperandKindHash {
  size_t operator()(const OperandKind& kind) const {
    const size_t layouts = HashCombine(HashCombine(kind.row, HashOf(kind.produced)), HashOf(kind.also));
    return HashCombine(HashCombine(layouts, static_cast<size_t>(kind.batch)), HashOf(kind.type));
  }
};

std::vector<double> PricesOf(size_t slot, const SlotLayouts& layouts, const SlotPrice& price) {
  std::vector<double> prices;
  prices.reserve(layouts.layouts.size());
  for (const NdSbp& layout : layouts.layouts) prices.push_back(price(slot, layout));
  return prices;
}

}  // namespace

SlotPrices::SlotPrices(const CriterionQuery& query, const SlotPrice& operand, const SlotPrice& result,
                       std::span<const NdSbp> also) {
  const Problem& problem = *query.problem;
  const OpClass& op_class = problem.class_at(query.op);
  const std::vector<bool>& present = op_class.list->instance->present;
  const auto operands = problem.operands(query.op);
  sums_.assign(op_class.list->candidates.size(), 0.0);
  std::unordered_map<OperandKind, std::vector<double>, OperandKindHash> known;
  for (size_t i = 0; i < op_class.operands.size(); ++i) {
    if (!present[i]) continue;
    const SlotLayouts& slot = op_class.operands[i];
    if (op_class.operands.size() <= kFewOperands) {
      Add(slot, PricesOf(i, slot, operand));
      continue;
    }
    OperandKind kind{op_class.operands.row(i), query.produced[i], also.empty() ? NdSbp() : also[i],
                     problem.batch_axis[operands[i].index()], problem.type(operands[i])};
    const auto [entry, is_new] = known.try_emplace(std::move(kind));
    if (is_new) entry->second = PricesOf(i, slot, operand);
    Add(slot, entry->second);
  }
  if (!result) return;
  const std::vector<TensorId>& outputs = problem.graph->op(query.op).outputs;
  for (size_t r = 0; r < op_class.results.size(); ++r) {
    if (outputs[r].valid()) Add(op_class.results[r], PricesOf(r, op_class.results[r], result));
  }
}

void SlotPrices::Add(const SlotLayouts& slot, const std::vector<double>& prices) {
  for (size_t c = 0; c < sums_.size(); ++c) sums_[c] += prices[slot.of_candidate[c]];
}

SlotPrice StandingResults(const CriterionQuery& query, StandingPrice price) {
  if (!WritesStanding(*query.problem, query.op)) return {};
  return [&query, price = std::move(price)](size_t result, const NdSbp& written) {
    const TensorId tensor = query.problem->graph->op(query.op).outputs[result];
    const TensorPin* pin = query.problem->demands.standing(tensor);
    return pin == nullptr ? 0 : price(query.problem->type(tensor), written, pin->layout);
  };
}

void AddStandingTerms(const CriterionQuery& query, uint32_t candidate, const StandingPrice& price,
                      std::vector<PriceTerm>& terms) {
  const SlotPrice price_of = StandingResults(query, price);
  if (!price_of) return;
  const std::vector<NdSbp>& written = query.list->candidates[candidate].signature.outputs;
  const std::vector<TensorId>& outputs = query.problem->graph->op(query.op).outputs;
  for (size_t r = 0; r < outputs.size(); ++r) {
    const TensorPin* pin = outputs[r].valid() ? query.problem->demands.standing(outputs[r]) : nullptr;
    if (pin == nullptr) continue;
    terms.push_back(
        {StrCat(ResultLabel(query, r), ": ", ToString(written[r]), " -> ", ToString(pin->layout), ", as pinned"),
         price_of(r, written[r])});
  }
}

std::string OperandLabel(const CriterionQuery& query, size_t operand) {
  const RuleInstance& instance = *query.list->instance;
  return operand < instance.operand_names.size() ? instance.operand_names[operand] : StrCat(operand);
}

std::string ResultLabel(const CriterionQuery& query, size_t result) {
  const RuleInstance& instance = *query.list->instance;
  return result < instance.result_names.size() ? instance.result_names[result] : StrCat(result);
}

std::string TransitionLabel(const CriterionQuery& query, size_t operand, const NdSbp& wanted) {
  const NdSbp& produced = query.produced[operand];
  if (produced == wanted) return StrCat(OperandLabel(query, operand), ": as produced, ", ToString(wanted));
  return StrCat(OperandLabel(query, operand), ": ", ToString(produced), " -> ", ToString(wanted));
}

}  // namespace sbp
