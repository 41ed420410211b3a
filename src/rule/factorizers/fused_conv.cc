// FusedConv: a convolution, plus an optional tensor shaped like its result, then an activation.
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {

// @fused_conv: operands x, weights, bias, addend. An activation is not linear, so that with one of them sums over input
// channels must be finished first.
Status FactorizeFusedConv(FactorizerContext& context) {
  constexpr int kAddend = 3;
  context.name_arguments = {"conv"};
  SBP_RETURN_IF_ERROR(FactorizeConv(context));
  FactorMap& map = context.map();
  const bool activation = !context.String("activation").empty();
  if (activation) {
    map.reduces.clear();
    map.partials.clear();
    map.addends.clear();
    map.notes.push_back("the sum over input channels must be finished before the activation");
  }
  if (!context.has(kAddend)) return OkStatus();
  const Shape& shape = context.out().results[0].shape;
  if (context.shape(kAddend) != shape) {
    return context.Error(StrCat(OperandName(context, kAddend), " must be shaped like the result [", Join(shape, ","),
                                "], but is ", ToString(context.type(kAddend))));
  }
  map.operands[kAddend] = map.results[0];
  for (Factor& factor : map.factors) {
    if (factor.halo) factor.halo->operand = 0;  // the addend is read in place
  }
  if (activation) return OkStatus();
  map.addends.push_back(kAddend);
  for (PartialClause& partial : map.partials) {
    if (partial.kind == PartialClause::Kind::kLinear) partial.operands.push_back(kAddend);
  }
  return OkStatus();
}

}  // namespace sbp
