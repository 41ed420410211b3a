// Rotary positions: pairs within a head turn together, so a head's elements stay whole.
#include <cstdint>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct RotaryFactors {
  FactorId b, h, s;
};

// x is (batch, heads, positions, size) or (batch, positions, heads * size).
Result<RotaryFactors> PutHeads(FactorizerContext& context, size_t operand, int64_t heads) {
  const Shape shape = context.shape(operand);
  if (shape.size() != 3 && shape.size() != 4) {
    return context.Error(StrCat("operand 0 must have 3 or 4 dimensions, but is ", ToString(context.type(operand))));
  }
  const bool packed = shape.size() == 3;
  if (!packed) heads = shape[1];
  if (heads <= 0 || (packed && shape[2] % heads != 0)) {
    return context.Error(
        StrCat("a width of ", shape[2], " does not divide into ", heads, " heads (attribute num_heads)"));
  }
  FactorMap& map = context.map();
  const RotaryFactors f{map.AddFactor("b", shape[0]), map.AddFactor("h", heads),
                        map.AddFactor("s", shape[packed ? 1 : 2])};
  const FactorId d = map.AddFactor("d", packed ? shape[2] / heads : shape[3]);
  map.factors[d].whole = true;
  context.SetResult(0, shape);
  for (TensorFactors* x : {&map.operands[operand], &map.results[0]}) {
    SetDim(*x, 0, {f.b});
    if (packed) {
      SetDim(*x, 1, {f.s});
      SetDim(*x, 2, {f.h, d});
    } else {
      SetDim(*x, 1, {f.h});
      SetDim(*x, 2, {f.s});
      SetDim(*x, 3, {d});
    }
  }
  map.notes.push_back("pairs of elements of a head turn together");
  return f;
}

// A dimension per batch and position, or a table by position that stays whole.
void PutPositions(FactorizerContext& context, size_t operand, const RotaryFactors& f) {
  if (!context.has(operand)) return;
  SetOperandDim(context, operand, 0, {f.b});
  if (context.rank(operand) > 1) SetOperandDim(context, operand, 1, {f.s});
}

}  // namespace

// @rotary, of the standard: x, cos, sin, position ids. Without ids the tables have a row per batch and position.
Status FactorizeRotary(FactorizerContext& context) {
  const size_t position_ids = context.operand("position_ids");
  SBP_ASSIGN_OR_RETURN(const RotaryFactors f, PutHeads(context, context.operand("X"), context.Int("num_heads")));
  const bool by_id = context.has(position_ids);
  for (size_t table : {context.operand("cos_cache"), context.operand("sin_cache")}) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, table, by_id ? 2 : 3));
    if (!by_id) PutPositions(context, table, f);
  }
  if (by_id) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, position_ids, 2));
    PutPositions(context, position_ids, f);
  }
  return OkStatus();
}

// @rotary_cached, of onnxruntime: x, position ids ([1]: where the first one stands; or one each), cos, sin.
Status FactorizeRotaryCached(FactorizerContext& context) {
  const size_t x = context.operand("input"), position_ids = context.operand("position_ids");
  const size_t cos_cache = context.operand("cos_cache");
  SBP_RETURN_IF_ERROR(ExpectRank(context, cos_cache, 2));
  int64_t heads = context.Int("num_heads");
  if (heads == 0 && context.rank(x) == 3) {
    const int64_t size = 2 * context.shape(cos_cache)[1];
    heads = size > 0 ? context.shape(x)[2] / size : 0;
  }
  SBP_ASSIGN_OR_RETURN(const RotaryFactors f, PutHeads(context, x, heads));
  if (context.rank(position_ids) == 2) {
    PutPositions(context, position_ids, f);
  } else {
    context.map().factors[f.s].aware = true;
  }
  return OkStatus();
}

}  // namespace sbp
