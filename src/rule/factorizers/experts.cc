// A mixture of experts as one op: rows [tokens, width] through weights [experts, inner, width] and back.
#include <cstdint>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Where the rows and the weights, scales and biases of the three projections stand; plain ops have no scales.
struct ExpertOperands {
  explicit ExpertOperands(const FactorizerContext& context)
      : input(context.operand("input")), router(context.operand("router_probs")) {
    for (size_t i = 0; i < 3; ++i) {
      const std::string name = StrCat("fc", i + 1);
      weights[i] = context.operand(name + "_experts_weights");
      scales[i] = context.operand(name + "_scales");
      biases[i] = context.operand(name + "_experts_bias");
      zero_points[i] = context.operand(name + "_zero_points");
    }
  }
  size_t input, router, weights[3], scales[3], biases[3], zero_points[3];
};

// Scales are [experts, rows], or [experts, rows, blocks of a row]; biases [experts, rows].
Status CheckProjections(FactorizerContext& context, const ExpertOperands& at, bool quantized, int64_t per_byte) {
  const int64_t experts = context.shape(at.weights[0])[0], block = context.Int("block_size");
  for (size_t i = 0; i < 3; ++i) {
    if (!context.has(at.weights[i])) continue;
    const Shape& weights = context.shape(at.weights[i]);
    SBP_RETURN_IF_ERROR(ExpectDim(context, at.weights[i], 0, experts, "experts"));
    SBP_RETURN_IF_ERROR(ExpectRank(context, at.biases[i], 2));
    if (context.has(at.biases[i])) {
      SBP_RETURN_IF_ERROR(ExpectDim(context, at.biases[i], 0, experts, "experts"));
      SBP_RETURN_IF_ERROR(ExpectDim(context, at.biases[i], 1, weights[1], "rows of the weights"));
    }
    if (!quantized) continue;
    if (!context.has(at.scales[i])) return context.Error("weights of few bits need scales");
    SBP_RETURN_IF_ERROR(ExpectRank(context, at.scales[i], block > 0 ? 3 : 2));
    SBP_RETURN_IF_ERROR(ExpectDim(context, at.scales[i], 0, experts, "experts"));
    SBP_RETURN_IF_ERROR(ExpectDim(context, at.scales[i], 1, weights[1], "rows of the weights"));
    if (block <= 0) continue;
    const int64_t width = SaturatingMul(weights[2], per_byte);
    SBP_RETURN_IF_ERROR(ExpectDim(context, at.scales[i], 2, CeilDiv(width, block), "blocks of a row"));
  }
  return OkStatus();
}

// Rows of the input, and of the routing probabilities, which are [rows, experts].
Status PutRows(FactorizerContext& context, const ExpertOperands& at) {
  const int rank = context.rank(at.input);
  if (rank < 2) return context.Error("input must have rows and a width");
  SBP_RETURN_IF_ERROR(ExpectRank(context, at.router, 2));
  const Shape shape = context.shape(at.input);
  context.SetResult(0, shape);
  std::vector<FactorId> rows;
  for (int dim = 0; dim + 1 < rank; ++dim) {
    rows.push_back(context.map().AddFactor(LetterName(dim), shape[dim]));
    SetOperandDim(context, at.input, dim, {rows[dim]});
    SetResultDim(context, 0, dim, {rows[dim]});
  }
  if (rows.size() == 1) SetOperandDim(context, at.router, 0, {rows[0]});
  if (rows.size() == 2) SetOperandDim(context, at.router, 0, {rows[0], rows[1]});
  return OkStatus();
}

}  // namespace

// @experts, @experts("quantized"). Rows split; experts split with the rows of other ranks' experts masked (every rank
// sees all routing probabilities); the inner width splits unless gate and value are interleaved in it, or numbers of a
// few bits are packed along it.
Status FactorizeExperts(FactorizerContext& context) {
  const bool quantized = !context.name_arguments.empty();
  const ExpertOperands at(context);
  for (const size_t weights : at.weights) {
    if (context.has(weights)) SBP_RETURN_IF_ERROR(ExpectRank(context, weights, 3));
  }
  const int64_t bits = context.Int("expert_weight_bits", quantized ? 4 : 8);
  if (bits < 1 || bits > 8 || 8 % bits != 0)
    return context.Error(StrCat("expert_weight_bits ", bits, " is not 1, 2, 4 or 8"));
  if (context.Int("block_size") < 0) return context.Error("block_size must not be negative");
  SBP_RETURN_IF_ERROR(PutRows(context, at));
  const int64_t experts = context.shape(at.router)[1], k = context.Int("k", 1);
  if (k < 1 || k > experts) return context.Error(StrCat("k is ", k, ", but there are ", experts, " experts"));
  SBP_RETURN_IF_ERROR(ExpectDim(context, at.weights[0], 0, experts, "experts"));
  SBP_RETURN_IF_ERROR(CheckProjections(context, at, quantized, 8 / bits));
  FactorMap& map = context.map();
  const FactorId x = map.AddFactor("x", context.shape(at.weights[0])[0]);
  map.factors[x].masked = true;
  for (const auto& kind : {at.weights, at.scales, at.biases}) {
    for (size_t i = 0; i < 3; ++i) {
      if (context.has(kind[i])) SetOperandDim(context, kind[i], 0, {x});
    }
  }
  if (quantized) {
    for (const size_t zero_points : at.zero_points) SetOperandDim(context, zero_points, 0, {x});
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
  const double inner = static_cast<double>(context.shape(at.weights[0])[1]) +
                       static_cast<double>(context.shape(at.weights[1])[2]) * 8 / static_cast<double>(bits);
  context.out().flops = 2.0 * static_cast<double>(k) * static_cast<double>(context.shape(at.router)[0]) *
                        static_cast<double>(context.shape(at.input).back()) * inner;
  return OkStatus();
}

}  // namespace sbp
