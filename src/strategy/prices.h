// Sums of prices over an op's slots: each distinct layout of a slot is priced once, each candidate is then a sum of
// look-ups.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/tensor_type.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "strategy/strategy.h"

namespace sbp {

// Price of one operand or result if it lay like this.
using SlotPrice = std::function<double(size_t slot, const NdSbp& layout)>;

inline constexpr size_t kFewOperands = 8;  // up to so many, looking for equal ones costs more than it saves

class SlotPrices {
 public:
  // Absent operands and results that nobody asked for cost nothing. `result` may be empty. Operands of equal type and
  // batch axis that were produced alike and lie alike in every candidate have one price; `also` (per operand, or empty)
  // is what else tells them apart.
  SlotPrices(const CriterionQuery& query, const SlotPrice& operand, const SlotPrice& result = {},
             std::span<const NdSbp> also = {});
  // Sum over the slots of a candidate, operands first.
  double Of(uint32_t candidate) const { return sums_[candidate]; }

 private:
  void Add(const SlotLayouts& slot, const std::vector<double>& prices);

  std::vector<double> sums_;  // per candidate
};

// The price of bringing a result to where a pin lets its readers start (Demands::standing), 0 where there is none: what
// a criterion that looks at boxing adds to its operands' prices. Empty where no result has such a pin.
using StandingPrice = std::function<double(const TensorType& type, const NdSbp& written, const NdSbp& standing)>;
SlotPrice StandingResults(const CriterionQuery& query, StandingPrice price);
// The same as terms of one candidate.
void AddStandingTerms(const CriterionQuery& query, uint32_t candidate, const StandingPrice& price,
                      std::vector<PriceTerm>& terms);

enum class Ties { kFirst, kLast };

// The candidate of least price among the allowed ones, and the next best. `price_of(candidate)` is a double.
template <typename PriceOf>
CriterionAnswer ChooseLeast(std::span<const uint32_t> allowed, Ties ties, PriceOf price_of) {
  CriterionAnswer answer;
  answer.candidate = allowed[0];
  answer.price = price_of(allowed[0]);
  for (size_t i = 1; i < allowed.size(); ++i) {
    const double price = price_of(allowed[i]);
    if (price < answer.price || (ties == Ties::kLast && price == answer.price)) {
      answer.alternative = static_cast<int32_t>(answer.candidate);
      answer.alternative_price = answer.price;
      answer.candidate = allowed[i];
      answer.price = price;
    } else if (answer.alternative < 0 || price < answer.alternative_price) {
      answer.alternative = static_cast<int32_t>(allowed[i]);
      answer.alternative_price = price;
    }
  }
  return answer;
}

// The schema's name of a slot: how terms name it.
std::string OperandLabel(const CriterionQuery& query, size_t operand);
std::string ResultLabel(const CriterionQuery& query, size_t result);
// "x: S(0) -> B" or "x: as produced, S(0)".
std::string TransitionLabel(const CriterionQuery& query, size_t operand, const NdSbp& wanted);

}  // namespace sbp
