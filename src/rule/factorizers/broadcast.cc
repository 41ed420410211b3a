#include "rule/factorizers/broadcast.h"

#include <vector>

#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {

Status BroadcastInto(FactorizerContext& context, std::span<const size_t> operands) {
  std::vector<size_t> present;
  for (size_t i : operands) {
    if (context.has(i)) present.push_back(i);
  }
  SBP_ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(context, present));
  const int rank = static_cast<int>(shape.size());
  context.SetResult(0, shape);
  for (int dim = 0; dim < rank; ++dim) {
    const FactorId f = context.map().AddFactor(LetterName(dim), shape[dim]);
    context.map().factors[f].from_ellipsis = true;
    PutResult(context, 0, dim, f);
    for (size_t i : present) {
      const int own = dim - (rank - context.rank(i));
      if (own >= 0) PutOperand(context, i, own, f);
    }
  }
  return OkStatus();
}

Status BroadcastAll(FactorizerContext& context) {
  std::vector<size_t> operands(context.num_operands());
  for (size_t i = 0; i < operands.size(); ++i) operands[i] = i;
  return BroadcastInto(context, operands);
}

}  // namespace sbp
