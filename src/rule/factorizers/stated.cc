// Results whose shape no rule can know: taken from the model, or from an upper bound; nothing is split.
#include <algorithm>
#include <cstdint>

#include "base/status.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {

// @stated: every result that somebody uses must be stated by the model.
Status FactorizeStated(FactorizerContext& context) {
  for (size_t r = 0; r < context.num_results(); ++r) {
    if (const TensorType* stated = Stated(context, r)) {
      context.SetResult(r, stated->dtype, stated->shape);
      context.out().results[r].kind = stated->kind;
    } else if (context.query().wanted[r]) {
      return context.Error(
          StrCat("the shape of result ", r, " depends on values; the model must state it (value_info)"));
    }
  }
  return OkStatus();
}

// @gradient: derivatives by the first operands, each shaped like its operand.
Status FactorizeGradient(FactorizerContext& context) {
  if (context.num_results() > context.num_operands()) return context.Error("needs an operand for each result");
  for (size_t r = 0; r < context.num_results(); ++r) context.SetResult(r, context.type(r).dtype, context.shape(r));
  return OkStatus();
}

// @at_most(operand): the result has at most the operand's elements.
Status FactorizeAtMost(FactorizerContext& context) {
  const TensorType* stated = Stated(context, 0);
  context.SetResult(0,
                    stated != nullptr ? stated->shape : context.shape(static_cast<size_t>(context.int_arguments[0])));
  context.out().bounded = stated == nullptr;
  return OkStatus();
}

// @string_split: parts [..., widest], and their number for each string. Without a statement or a limit on the cuts, the
// bound is kMaxParts.
Status FactorizeStringSplit(FactorizerContext& context) {
  constexpr int64_t kMaxParts = 64;
  const Shape& strings = context.shape(context.operand("X"));
  const TensorType* stated = Stated(context, 0);
  Shape parts = strings;
  parts.push_back(context.HasAttribute("maxsplit") ? context.Int("maxsplit") + 1 : kMaxParts);
  context.SetResult(0, stated != nullptr ? stated->shape : parts);
  context.out().bounded = stated == nullptr;
  if (context.num_results() > 1) context.SetResult(1, strings);
  return OkStatus();
}

// @ngrams: x [rows, tokens] or [tokens] -> a count for each listed index; rows split.
Status FactorizeNgrams(FactorizerContext& context) {
  int64_t width = 0;
  for (int64_t index : context.Ints("ngram_indexes")) width = std::max(width, index + 1);
  const size_t x = context.operand("X");
  Shape shape = context.shape(x);
  if (shape.empty() || shape.size() > 2) return context.Error("X must have 1 or 2 dimensions");
  shape.back() = width;
  context.SetResult(0, shape);
  if (shape.size() == 2) {
    const FactorId n = context.map().AddFactor("n", shape[0]);
    SetOperandDim(context, x, 0, {n});
    SetResultDim(context, 0, 0, {n});
  }
  return OkStatus();
}

}  // namespace sbp
