// Pools over regions of interest: regions and channels split; where values are averaged a batch may be split with
// masking, since each region belongs to one image.
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

Status FactorizeRoi(FactorizerContext& context) {
  const size_t x = context.operand("X"), rois = context.operand("rois"), batches = context.operand("batch_indices");
  SBP_RETURN_IF_ERROR(ExpectRank(context, x, "X", 4));
  SBP_RETURN_IF_ERROR(ExpectRank(context, rois, "rois", 2));
  int64_t height = context.Int("output_height", 1), width = context.Int("output_width", 1);
  if (const std::vector<int64_t> pooled = context.Ints("pooled_shape"); !pooled.empty()) {
    if (pooled.size() != 2) return context.Error("pooled_shape must have two entries");
    height = pooled[0];
    width = pooled[1];
  }
  const Shape shape = {context.shape(rois)[0], context.shape(x)[1], height, width};
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  FactorMap& map = context.map();
  ShareDim(context, rois, 0, 0, 0);
  ShareDim(context, x, 1, 0, 1);
  if (context.has(batches)) {
    if (context.shape(batches) != Shape{shape[0]})
      return context.Error("batch_indices must hold one index for each region");
    CopyDim(map.operands[rois][0], map.operands[batches][0]);
  }
  AddNote(context, "spatial dimensions stay whole: a region may lie anywhere in them");
  if (context.HasAttribute("pooled_shape") || context.String("mode", "avg") != "avg") return OkStatus();
  const FactorId batch = NewFactor(context, context.shape(x)[0]);
  if (batch != kNoFactor) {
    Carry(map.operands[x][0], {batch});
    map.factors[batch].masked = true;
    ReduceFactor(context, ReduceKind::kSum, batch);
  }
  AddLinear(context, {x});
  return OkStatus();
}

}  // namespace sbp
