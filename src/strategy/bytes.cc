// bytes: the bytes that boxing of the inputs moves, and that of results to where pins want them, all ranks together
// (boxing.h, BytesPrice); first registered on ties.
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

double OperandBytes(const CriterionQuery& query, size_t operand, const NdSbp& wanted) {
  const Problem& problem = *query.problem;
  const TensorType& type = problem.type(problem.operands(query.op)[operand]);
  return BytesPrice(type, query.produced[operand], wanted, problem.mesh);
}

StandingPrice StandingBytes(const CriterionQuery& query) {
  return [&mesh = query.problem->mesh](const TensorType& type, const NdSbp& written, const NdSbp& standing) {
    return BytesPrice(type, written, standing, mesh);
  };
}

}  // namespace

CriterionAnswer ChooseByBytes(const CriterionQuery& query) {
  const SlotPrices prices(
      query, [&](size_t i, const NdSbp& wanted) { return OperandBytes(query, i, wanted); },
      StandingResults(query, StandingBytes(query)));
  return ChooseLeast(query.allowed, Ties::kFirst, [&](uint32_t c) { return prices.Of(c); });
}

std::vector<PriceTerm> BytesTerms(const CriterionQuery& query, uint32_t candidate) {
  const CandidateSignature& signature = query.list->candidates[candidate].signature;
  std::vector<PriceTerm> terms;
  const auto operands = query.problem->operands(query.op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    terms.push_back({TransitionLabel(query, i, signature.inputs[i]), OperandBytes(query, i, signature.inputs[i])});
  }
  AddStandingTerms(query, candidate, StandingBytes(query), terms);
  return terms;
}

}  // namespace sbp
