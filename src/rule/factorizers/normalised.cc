// Normalisation over the last dimensions, alone or fused with the sums and look-ups before it.
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// The shape of a mean or deviation: dimensions from `axis` on are 1.
Shape StatisticShape(const Shape& shape, int axis) {
  Shape result = shape;
  for (size_t i = axis; i < result.size(); ++i) result[i] = 1;
  return result;
}

// A scale or shift may be any shape that broadcasts to the normalised dimensions.
Status CheckScale(FactorizerContext& context, size_t operand, const Shape& shape, int axis) {
  if (!context.has(operand)) return OkStatus();
  const Shape& scale = context.shape(operand);
  const size_t normalised = shape.size() - axis;
  bool fits = scale.size() <= normalised;
  for (size_t i = 0; fits && i < scale.size(); ++i) {
    const int64_t size = shape[shape.size() - scale.size() + i];
    fits = scale[i] == size || scale[i] == 1;
  }
  if (fits) return OkStatus();
  const Shape expected(shape.begin() + axis, shape.end());
  return context.Error(StrCat(OperandName(context, operand), " must fit the normalised dimensions [",
                              Join(expected, ","), "], but is ", ToString(context.type(operand))));
}

void NoteNormalised(FactorizerContext& context) {
  context.map().notes.push_back("mean and deviation run over the normalised dimensions");
}

}  // namespace

// @normalised(x, scale[, shift]); results y, then statistics.
Status FactorizeNormalised(FactorizerContext& context) {
  const size_t x = context.int_arguments.at(0);
  const Shape shape = context.shape(x);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis", -1), context.rank(x)));
  for (size_t i = 1; i < context.int_arguments.size(); ++i) {
    SBP_RETURN_IF_ERROR(CheckScale(context, static_cast<size_t>(context.int_arguments[i]), shape, axis));
  }
  const auto stash = static_cast<DType>(context.Int("stash_type", 1));
  const DType statistics = stash == DType::kBF16 || stash == DType::kF64 ? stash : DType::kF32;
  std::vector<size_t> results;
  for (size_t r = 0; r < context.num_results(); ++r) {
    if (r == 0) {
      context.SetResult(0, shape);
    } else {
      context.SetResult(r, statistics, StatisticShape(shape, axis));
    }
    results.push_back(r);
  }
  LeadingFactors(context, x, axis, results);
  NoteNormalised(context);
  return OkStatus();
}

// @skip_normalised: x, skip (which may lack leading dimensions or have 1 there), scale and shifts; results y, mean,
// deviation, and the sum that was normalised.
Status FactorizeSkipNormalised(FactorizerContext& context) {
  const size_t x = context.operand("input"), skip = context.operand("skip");
  const Shape shape = context.shape(x);
  const int rank = context.rank(x);
  if (rank < 1) return context.Error("operand 0 must have at least one dimension");
  const int axis = rank - 1;
  for (const char* name : {"gamma", "beta", "bias"}) {
    SBP_RETURN_IF_ERROR(CheckScale(context, context.operand(name), shape, axis));
  }
  std::vector<size_t> results;
  for (size_t r = 0; r < context.num_results(); ++r) {
    context.SetResult(r, r == 1 || r == 2 ? StatisticShape(shape, axis) : shape);
    results.push_back(r);
  }
  const std::vector<FactorId> factors = LeadingFactors(context, x, axis, results);
  const std::vector<size_t> both = {x, skip};
  SBP_ASSIGN_OR_RETURN(const Shape sum, BroadcastShapes(context, both));
  if (sum != shape) return context.Error("the second operand must fit into the first");
  for (int dim = 0; dim < axis; ++dim) {
    const int own = dim - (rank - context.rank(skip));
    if (own >= 0) PutOperand(context, skip, own, factors[dim]);
  }
  NoteNormalised(context);
  return OkStatus();
}

// @embed_normalised: ids [b, s] and tables of rows; results [b, s, width], mask index [b], and the sum before.
Status FactorizeEmbedNormalised(FactorizerContext& context) {
  const size_t input_ids = context.operand("input_ids"), segment_ids = context.operand("segment_ids");
  const size_t position_ids = context.operand("position_ids"), mask = context.operand("mask");
  const size_t words = context.operand("word_embedding"), positions_table = context.operand("position_embedding");
  const size_t segments = context.operand("segment_embedding");
  for (size_t matrix : {input_ids, words, positions_table, segments, mask}) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, matrix, 2));
  }
  const int64_t batch = context.shape(input_ids)[0], positions = context.shape(input_ids)[1];
  const int64_t width = context.shape(words)[1];
  for (size_t table : {positions_table, segments}) {
    SBP_RETURN_IF_ERROR(ExpectDim(context, table, 1, width, "the embedding's width"));
  }
  const FactorId b = context.map().AddFactor("b", batch);
  const FactorId s = context.map().AddFactor("s", positions);
  // Without position ids, position = index: the kernel must know where its part begins.
  context.map().factors[s].aware = !context.has(position_ids);
  // The mask is counted over all positions, whole on every rank.
  if (context.num_results() > 1) ComputedWhole(context, s);
  if (context.has(mask)) SetOperandDim(context, mask, 0, {b});
  for (size_t ids : {input_ids, segment_ids, position_ids}) {
    if (!context.has(ids) || context.rank(ids) != 2) continue;
    SetOperandDim(context, ids, 0, {b});
    SetOperandDim(context, ids, 1, {s});
  }
  for (size_t r = 0; r < context.num_results(); ++r) {
    context.SetResult(r, r == 1 ? Shape{batch} : Shape{batch, positions, width});
    SetResultDim(context, r, 0, {b});
    if (r != 1) SetResultDim(context, r, 1, {s});
  }
  NoteNormalised(context);
  context.map().notes.push_back("the mask index counts over all positions");
  return OkStatus();
}

}  // namespace sbp
