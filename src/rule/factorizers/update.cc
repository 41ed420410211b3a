// Optimizer steps: lists of equal length of values, gradients and states, one after the other.
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {

// @update(states): operands step size, step count, then n values, n gradients, n of each state; results n new values, n
// of each new state. Tensor i of every list has one shape, and factors of its own.
Status FactorizeUpdate(FactorizerContext& context) {
  const size_t first = context.operand("inputs[0]");
  const size_t states = static_cast<size_t>(context.int_arguments[0]);
  const size_t lists = 2 + states;
  const size_t tensors = context.num_operands() - first;
  if (tensors == 0 || tensors % lists != 0) {
    return context.Error(StrCat(tensors, " tensors are not ", lists, " lists of equal length"));
  }
  const size_t count = tensors / lists;
  if (context.num_results() != count * (1 + states)) {
    return context.Error(StrCat("must have ", count * (1 + states), " results, not ", context.num_results()));
  }
  for (size_t i = 0; i < count; ++i) {
    const Shape& shape = context.shape(first + i);
    for (size_t list = 0; list < 1 + states; ++list) {
      context.SetResult(list * count + i, context.type(first + i).dtype, shape);
    }
    for (size_t list = 1; list < lists; ++list) {
      const size_t operand = first + list * count + i;
      SBP_RETURN_IF_ERROR(ExpectRank(context, operand, static_cast<int>(shape.size())));
      for (size_t d = 0; d < shape.size(); ++d) {
        SBP_RETURN_IF_ERROR(ExpectDim(context, operand, static_cast<int>(d), shape[d], "as in the value"));
      }
    }
    for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim) {
      const FactorId f = context.map().AddFactor(StrCat(LetterName(dim), count > 1 ? StrCat("_", i) : ""), shape[dim]);
      for (size_t list = 0; list < lists; ++list) SetOperandDim(context, first + list * count + i, dim, {f});
      for (size_t list = 0; list < 1 + states; ++list) SetResultDim(context, list * count + i, dim, {f});
      // The other tensors are updated whole meanwhile.
      if (count > 1) ComputedWhole(context, f);
    }
  }
  return OkStatus();
}

}  // namespace sbp
