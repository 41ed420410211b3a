// A criterion of the greedy walk: as many whole operands as can be.
#include "strategy/prices.h"
#include "strategy/strategy.h"

namespace sbp {

std::vector<PriceTerm> ToyTerms(const CriterionQuery& query, uint32_t candidate) {
  std::vector<PriceTerm> terms;
  for (const NdSbp& layout : query.list->candidates[candidate].signature.inputs) {
    terms.push_back({ToString(layout), layout.is_broadcast() ? 0.0 : 1.0});
  }
  return terms;
}

CriterionAnswer ChooseToy(const CriterionQuery& query) {
  return ChooseLeast(query.allowed, Ties::kFirst, [&](uint32_t candidate) {
    double sum = 0;
    for (const PriceTerm& term : ToyTerms(query, candidate)) sum += term.value;
    return sum;
  });
}

}  // namespace sbp
