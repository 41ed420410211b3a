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
  const Shape &data = context.shape(0), &indices = context.shape(1);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(0)));
  Shape shape(data.begin(), data.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, std::move(shape));
  const int index_rank = context.rank(1);
  for (int d = 0; d < axis; ++d) ShareDim(context, 0, d, 0, d);
  for (int d = 0; d < index_rank; ++d) ShareDim(context, 1, d, 0, axis + d);
  for (int d = axis + 1; d < context.rank(0); ++d) ShareDim(context, 0, d, 0, d - 1 + index_rank);
  CarryIndexed(context, 0, axis);
  return OkStatus();
}

Status FactorizeGatherElements(FactorizerContext& context) {
  const Shape &data = context.shape(0), &indices = context.shape(1);
  SBP_RETURN_IF_ERROR(ExpectRank(context, 1, "indices", context.rank(0)));
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(0)));
  context.SetResult(0, indices);
  for (int d = 0; d < context.rank(0); ++d) {
    if (d != axis && indices[d] > data[d]) {
      return context.Error(StrCat("dimension ", d, " of indices ", ToString(context.type(1)),
                                  " is larger than that of data ", ToString(context.type(0))));
    }
    if (d == axis || indices[d] == data[d]) {
      ShareDim(context, 1, d, 0, d);
      if (d != axis) CopyDim(context.map().operands[1][d], context.map().operands[0][d]);
    } else {
      AddNote(context, StrCat("dimension ", d, " of indices is shorter than that of data: parts would not line up"));
    }
  }
  CarryIndexed(context, 0, axis);
  return OkStatus();
}

Status FactorizeGatherND(FactorizerContext& context) {
  const Shape &data = context.shape(0), &indices = context.shape(1);
  const int64_t batch = context.Int("batch_dims");
  const int index_rank = context.rank(1);
  if (index_rank < 1 || batch < 0 || batch >= index_rank || batch >= context.rank(0)) {
    return context.Error(StrCat("batch_dims ", batch, " does not fit data ", ToString(context.type(0)), " and indices ",
                                ToString(context.type(1))));
  }
  const int64_t depth = indices.back();
  if (depth < 1 || depth > context.rank(0) - batch) {
    return context.Error(StrCat("the last dimension of indices ", ToString(context.type(1)), " must be 1 to ",
                                context.rank(0) - batch, ": the dimensions of data that are indexed"));
  }
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + depth, data.end());
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, std::move(shape));
  FactorMap& map = context.map();
  for (int d = 0; d + 1 < index_rank; ++d) {
    ShareDim(context, 1, d, 0, d);
    if (d >= batch) continue;
    if (indices[d] != data[d]) return context.Error(StrCat("batch dimension ", d, " of data and indices differ"));
    CopyDim(map.operands[1][d], map.operands[0][d]);
  }
  const int first_rest = static_cast<int>(batch + depth);
  for (int d = first_rest; d < context.rank(0); ++d) ShareDim(context, 0, d, 0, index_rank - 1 + d - first_rest);
  for (int d = static_cast<int>(batch); d < first_rest; ++d) CarryIndexed(context, 0, d);
  return OkStatus();
}

}  // namespace sbp
