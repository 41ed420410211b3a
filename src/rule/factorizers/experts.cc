// A mixture of experts as one op: rows [tokens, width] through weights [experts, inner, width] and back.
#include "base/text.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"

namespace sbp {
namespace {

enum ExpertOperand : size_t { kInput, kRouter, kFirst, kFirstBias, kSecond, kSecondBias, kThird, kThirdBias };

}  // namespace

// Rows split; experts split with the rows of other ranks' experts masked (every rank sees all routing probabilities);
// the inner width splits unless gate and value are interleaved in it.
Status FactorizeExperts(FactorizerContext& context) {
  const int rank = context.rank(kInput);
  if (rank < 2) return context.Error("input must have rows and a width");
  SBP_RETURN_IF_ERROR(ExpectRank(context, kRouter, 2));
  for (size_t weights : {kFirst, kSecond, kThird}) {
    if (weights < context.num_operands()) SBP_RETURN_IF_ERROR(ExpectRank(context, weights, 3));
  }
  const Shape shape = context.shape(kInput);
  FactorMap& map = context.map();
  context.SetResult(0, shape);
  std::vector<FactorId> rows;
  for (int dim = 0; dim + 1 < rank; ++dim) {
    rows.push_back(map.AddFactor(LetterName(dim), shape[dim]));
    SetOperandDim(context, kInput, dim, {rows[dim]});
    SetResultDim(context, 0, dim, {rows[dim]});
  }
  if (rows.size() == 1) SetOperandDim(context, kRouter, 0, {rows[0]});
  if (rows.size() == 2) SetOperandDim(context, kRouter, 0, {rows[0], rows[1]});
  const FactorId x = map.AddFactor("x", context.shape(kFirst)[0]);
  const FactorId i = map.AddFactor("i", context.shape(kSecond)[2]);
  map.factors[x].masked = true;
  map.factors[i].whole = context.Int("swiglu_fusion") != 0;
  for (size_t operand = kFirst; operand < context.num_operands(); ++operand) SetOperandDim(context, operand, 0, {x});
  for (size_t operand : {kFirst, kFirstBias, kThird, kThirdBias}) {
    if (operand < context.num_operands()) SetOperandDim(context, operand, 1, {i});
  }
  SetOperandDim(context, kSecond, 2, {i});
  ReduceBySum(context, x);
  ReduceBySum(context, i);
  if (context.num_operands() > kSecondBias && context.has(kSecondBias)) map.addends.push_back(kSecondBias);
  context.out().flops = 2.0 * static_cast<double>(context.Int("k", 1)) *
                        static_cast<double>(context.type(kRouter).shape[0]) * static_cast<double>(shape.back()) *
                        static_cast<double>(context.shape(kFirst)[1] + context.shape(kSecond)[2]);
  return OkStatus();
}

}  // namespace sbp
