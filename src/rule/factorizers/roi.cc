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
  SBP_RETURN_IF_ERROR(ExpectRank(context, 0, "X", 4));
  SBP_RETURN_IF_ERROR(ExpectRank(context, 1, "rois", 2));
  int64_t height = context.Int("output_height", 1), width = context.Int("output_width", 1);
  if (const std::vector<int64_t> pooled = context.Ints("pooled_shape"); !pooled.empty()) {
    if (pooled.size() != 2) return context.Error("pooled_shape must have two entries");
    height = pooled[0];
    width = pooled[1];
  }
  const Shape shape = {context.shape(1)[0], context.shape(0)[1], height, width};
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  FactorMap& map = context.map();
  ShareDim(context, 1, 0, 0, 0);
  ShareDim(context, 0, 1, 0, 1);
  if (context.num_operands() > 2 && context.has(2)) {
    if (context.shape(2) != Shape{shape[0]}) return context.Error("batch_indices must hold one index for each region");
    CopyDim(map.operands[1][0], map.operands[2][0]);
  }
  AddNote(context, "spatial dimensions stay whole: a region may lie anywhere in them");
  if (context.HasAttribute("pooled_shape") || context.String("mode", "avg") != "avg") return OkStatus();
  const FactorId batch = NewFactor(context, context.shape(0)[0]);
  if (batch != kNoFactor) {
    Carry(map.operands[0][0], {batch});
    map.factors[batch].masked = true;
    ReduceFactor(context, ReduceKind::kSum, batch);
  }
  AddLinear(context, {0});
  return OkStatus();
}

}  // namespace sbp
