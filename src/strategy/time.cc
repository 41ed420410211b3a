// time: seconds of boxing the inputs, and results to where pins want them, along their cheapest paths, and of the op
// itself on the busiest device; first registered on ties. Local: like every greedy criterion it looks at producers
// only.
#include <cstdint>
#include <vector>

#include "boxing/boxing.h"
#include "graph/tensor_type.h"
#include "problem/problem.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "strategy/all_criteria.h"
#include "strategy/prices.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

double OperandSeconds(const CriterionQuery& query, size_t operand, const NdSbp& wanted) {
  const Problem& problem = *query.problem;
  const TensorType& type = problem.type(problem.operands(query.op)[operand]);
  return problem.boxing->Price(type, query.produced[operand], wanted).seconds;
}

StandingPrice StandingSeconds(const CriterionQuery& query) {
  return [boxing = query.problem->boxing](const TensorType& type, const NdSbp& written, const NdSbp& standing) {
    return boxing->Price(type, written, standing).seconds;
  };
}

}  // namespace

CriterionAnswer ChooseByTime(const CriterionQuery& query) {
  const SlotPrices boxing(
      query, [&](size_t i, const NdSbp& wanted) { return OperandSeconds(query, i, wanted); },
      StandingResults(query, StandingSeconds(query)));
  return ChooseLeast(query.allowed, Ties::kFirst,
                     [&](uint32_t c) { return boxing.Of(c) + query.problem->ComputeSeconds(query.op, c); });
}

std::vector<PriceTerm> TimeTerms(const CriterionQuery& query, uint32_t candidate) {
  const CandidateSignature& signature = query.list->candidates[candidate].signature;
  std::vector<PriceTerm> terms;
  const auto operands = query.problem->operands(query.op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    terms.push_back({TransitionLabel(query, i, signature.inputs[i]), OperandSeconds(query, i, signature.inputs[i])});
  }
  AddStandingTerms(query, candidate, StandingSeconds(query), terms);
  terms.push_back({"the op itself on the busiest device", query.problem->ComputeSeconds(query.op, candidate)});
  return terms;
}

}  // namespace sbp
