// Col2Im: blocks (columns of the input) are added into an image.
#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "rule/factorizers/window.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

Status FactorizeCol2Im(FactorizerContext& context) {
  const size_t input = context.operand("input");
  SBP_RETURN_IF_ERROR(ExpectRank(context, input, "input", 3));
  const Shape& in = context.shape(input);
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> image, context.ints(context.operand("image_shape")));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> block, context.ints(context.operand("block_shape")));
  SBP_ASSIGN_OR_RETURN(const std::vector<WindowDim> window, ReadWindow(context, image, block, WindowRounding::kFloor));
  int64_t block_elements = 1, positions = 1;
  for (const WindowDim& dim : window) {
    block_elements = SaturatingMul(block_elements, dim.kernel);
    positions = SaturatingMul(positions, dim.out);
  }
  if (in[1] % block_elements != 0 || in[2] != positions) {
    return context.Error(StrCat("input ", ToString(context.type(input)), " must be [batch, channels * ", block_elements,
                                ", ", positions, "] for this image, block and strides"));
  }
  Shape shape = {in[0], in[1] / block_elements};
  shape.insert(shape.end(), image.begin(), image.end());
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  FactorMap& map = context.map();
  ShareDim(context, input, 0, 0, 0);
  const FactorId channel = NewFactor(context, shape[1]);
  const FactorId element = NewFactor(context, block_elements);
  const FactorId position = NewAwareFactor(context, positions);
  Carry(map.operands[input][1], {channel, element});
  Carry(map.operands[input][2], {position});
  Carry(map.results[0][1], {channel});
  if (element != kNoFactor) map.factors[element].whole = true;
  if (IsSummable(context.type(input).dtype)) ReduceFactor(context, ReduceKind::kSum, position);
  return OkStatus();
}

}  // namespace sbp
