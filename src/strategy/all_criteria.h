// The functions behind the rows of all_criteria.cc; each stands in the file of its criterion.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/strategy.h"

namespace sbp {

CriterionAnswer ChooseByOrderValue(const CriterionQuery& query);
std::vector<PriceTerm> OrderValueTerms(const CriterionQuery& query, uint32_t candidate);

CriterionAnswer ChooseByCopyCost(const CriterionQuery& query);
std::vector<PriceTerm> CopyCostTerms(const CriterionQuery& query, uint32_t candidate);

CriterionAnswer ChooseByBytes(const CriterionQuery& query);
std::vector<PriceTerm> BytesTerms(const CriterionQuery& query, uint32_t candidate);

CriterionAnswer ChooseByTime(const CriterionQuery& query);
std::vector<PriceTerm> TimeTerms(const CriterionQuery& query, uint32_t candidate);

}  // namespace sbp
