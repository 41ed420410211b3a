#include "strategy/prices.h"

#include <utility>

#include "base/text.h"

namespace sbp {

SlotPrices::SlotPrices(const CriterionQuery& query, const SlotPrice& operand, const SlotPrice& result) {
  const OpClass& op_class = query.problem->class_at(query.op);
  const std::vector<bool>& present = op_class.list->instance->present;
  for (size_t i = 0; i < op_class.operands.size(); ++i) {
    if (!present[i]) continue;
    Slot& slot = slots_.emplace_back(Slot{&op_class.operands[i], {}});
    for (const NdSbp& layout : slot.layouts->layouts) slot.prices.push_back(operand(i, layout));
  }
  if (!result) return;
  const std::vector<TensorId>& outputs = query.problem->graph->op(query.op).outputs;
  for (size_t r = 0; r < op_class.results.size(); ++r) {
    if (!outputs[r].valid()) continue;
    Slot& slot = slots_.emplace_back(Slot{&op_class.results[r], {}});
    for (const NdSbp& layout : slot.layouts->layouts) slot.prices.push_back(result(r, layout));
  }
}

double SlotPrices::Of(uint32_t candidate) const {
  double sum = 0;
  for (const Slot& slot : slots_) sum += slot.prices[slot.layouts->of_candidate[candidate]];
  return sum;
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
