// A mixture of experts as one op: rows [tokens, width] through weights [experts, inner, width] and back.
#include <algorithm>

#include "base/text.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"

namespace sbp {
namespace {

// Where the weights, scales and biases of the three projections stand.
struct ExpertOperands {
  size_t weights[3], scales[3], biases[3];
};
constexpr size_t kNone = ~size_t{0};
constexpr ExpertOperands kPlain = {{2, 4, 6}, {kNone, kNone, kNone}, {3, 5, 7}};
constexpr ExpertOperands kQuantized = {{2, 5, 8}, {3, 6, 9}, {4, 7, 10}};

// Rows of the input, and of the routing probabilities, which are [rows, experts].
Status PutRows(FactorizerContext& context) {
  const int rank = context.rank(0);
  if (rank < 2) return context.Error("input must have rows and a width");
  SBP_RETURN_IF_ERROR(ExpectRank(context, 1, 2));
  const Shape shape = context.shape(0);
  context.SetResult(0, shape);
  std::vector<FactorId> rows;
  for (int dim = 0; dim + 1 < rank; ++dim) {
    rows.push_back(context.map().AddFactor(LetterName(dim), shape[dim]));
    SetOperandDim(context, 0, dim, {rows[dim]});
    SetResultDim(context, 0, dim, {rows[dim]});
  }
  if (rows.size() == 1) SetOperandDim(context, 1, 0, {rows[0]});
  if (rows.size() == 2) SetOperandDim(context, 1, 0, {rows[0], rows[1]});
  return OkStatus();
}

}  // namespace

// @experts, @experts("quantized"). Rows split; experts split with the rows of other ranks' experts masked (every rank
// sees all routing probabilities); the inner width splits unless gate and value are interleaved in it, or numbers of a
// few bits are packed along it.
Status FactorizeExperts(FactorizerContext& context) {
  const bool quantized = !context.name_arguments.empty();
  const ExpertOperands& at = quantized ? kQuantized : kPlain;
  for (const size_t weights : at.weights) {
    if (context.has(weights)) SBP_RETURN_IF_ERROR(ExpectRank(context, weights, 3));
  }
  SBP_RETURN_IF_ERROR(PutRows(context));
  FactorMap& map = context.map();
  const FactorId x = map.AddFactor("x", context.shape(at.weights[0])[0]);
  map.factors[x].masked = true;
  for (const auto& kind : {at.weights, at.scales, at.biases}) {
    for (size_t i = 0; i < 3; ++i) {
      if (context.has(kind[i])) SetOperandDim(context, kind[i], 0, {x});
    }
  }
  ReduceBySum(context, x);
  if (!quantized) {
    const FactorId i = map.AddFactor("i", context.shape(at.weights[1])[2]);
    map.factors[i].whole = context.Int("swiglu_fusion") != 0;
    for (const size_t operand : {at.weights[0], at.biases[0], at.weights[2], at.biases[2]}) {
      if (context.has(operand)) SetOperandDim(context, operand, 1, {i});
    }
    SetOperandDim(context, at.weights[1], 2, {i});
    ReduceBySum(context, i);
  }
  if (context.has(at.biases[1])) map.addends.push_back(static_cast<int>(at.biases[1]));
  const int64_t per_byte = quantized ? 8 / std::clamp<int64_t>(context.Int("expert_weight_bits", 4), 1, 8) : 1;
  const int64_t inner = context.shape(at.weights[0])[1] + context.shape(at.weights[1])[2] * per_byte;
  context.out().flops = 2.0 * static_cast<double>(context.Int("k", 1)) * static_cast<double>(context.shape(1)[0]) *
                        static_cast<double>(context.shape(0).back()) * static_cast<double>(inner);
  return OkStatus();
}

}  // namespace sbp
