// Gather and its relatives. The dimension that is indexed may be split: a rank looks up what it owns and yields zeros
// elsewhere, and the results add up (a vocabulary-parallel embedding).
#include <algorithm>
#include <cstdint>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// A factor of `data` that indices point into.
void CarryIndexed(FactorizerContext& context, size_t operand, int dim) {
  const FactorId f = NewFactor(context, context.shape(operand)[dim]);
  if (f == kNoFactor) return;
  Carry(context.map().operands[operand][dim], {f});
  context.map().factors[f].masked = true;
  if (const auto kind = MaskedReduce(context.type(operand).dtype)) ReduceFactor(context, *kind, f);
}

}  // namespace

Status FactorizeGather(FactorizerContext& context) {
  const size_t data = context.operand("data"), indices = context.operand("indices");
  const Shape &in = context.shape(data), &at = context.shape(indices);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(data)));
  Shape shape(in.begin(), in.begin() + axis);
  shape.insert(shape.end(), at.begin(), at.end());
  shape.insert(shape.end(), in.begin() + axis + 1, in.end());
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, std::move(shape));
  const int index_rank = context.rank(indices);
  for (int d = 0; d < axis; ++d) ShareDim(context, data, d, 0, d);
  for (int d = 0; d < index_rank; ++d) ShareDim(context, indices, d, 0, axis + d);
  for (int d = axis + 1; d < context.rank(data); ++d) ShareDim(context, data, d, 0, d - 1 + index_rank);
  CarryIndexed(context, data, axis);
  return OkStatus();
}

Status FactorizeGatherElements(FactorizerContext& context) {
  const size_t data = context.operand("data"), indices = context.operand("indices");
  const Shape &in = context.shape(data), &at = context.shape(indices);
  SBP_RETURN_IF_ERROR(ExpectRank(context, indices, "indices", context.rank(data)));
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(data)));
  context.SetResult(0, at);
  for (int d = 0; d < context.rank(data); ++d) {
    if (d != axis && at[d] > in[d]) {
      return context.Error(StrCat("dimension ", d, " of indices ", ToString(context.type(indices)),
                                  " is larger than that of data ", ToString(context.type(data))));
    }
    if (d == axis || at[d] == in[d]) {
      ShareDim(context, indices, d, 0, d);
      if (d != axis) CopyDim(context.map().operands[indices][d], context.map().operands[data][d]);
    } else {
      AddNote(context, StrCat("dimension ", d, " of indices is shorter than that of data: parts would not line up"));
    }
  }
  CarryIndexed(context, data, axis);
  return OkStatus();
}

Status FactorizeGatherND(FactorizerContext& context) {
  const size_t data = context.operand("data"), indices = context.operand("indices");
  const Shape &in = context.shape(data), &at = context.shape(indices);
  const int64_t batch = context.Int("batch_dims");
  const int index_rank = context.rank(indices);
  if (index_rank < 1 || batch < 0 || batch >= index_rank || batch >= context.rank(data)) {
    return context.Error(StrCat("batch_dims ", batch, " does not fit data ", ToString(context.type(data)),
                                " and indices ", ToString(context.type(indices))));
  }
  const int64_t depth = at.back();
  if (depth < 1 || depth > context.rank(data) - batch) {
    return context.Error(StrCat("the last dimension of indices ", ToString(context.type(indices)), " must be 1 to ",
                                context.rank(data) - batch, ": the dimensions of data that are indexed"));
  }
  Shape shape(at.begin(), at.end() - 1);
  shape.insert(shape.end(), in.begin() + batch + depth, in.end());
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, std::move(shape));
  FactorMap& map = context.map();
  for (int d = 0; d + 1 < index_rank; ++d) {
    ShareDim(context, indices, d, 0, d);
    if (d >= batch) continue;
    if (at[d] != in[d]) return context.Error(StrCat("batch dimension ", d, " of data and indices differ"));
    CopyDim(map.operands[indices][d], map.operands[data][d]);
  }
  const int first_rest = static_cast<int>(batch + depth);
  for (int d = first_rest; d < context.rank(data); ++d) ShareDim(context, data, d, 0, index_rank - 1 + d - first_rest);
  for (int d = static_cast<int>(batch); d < first_rest; ++d) CarryIndexed(context, data, d);
  return OkStatus();
}

}  // namespace sbp
