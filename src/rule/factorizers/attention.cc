// The standard's Attention: q, k, v of 4 dimensions (batch, heads, positions, size), or of 3 with the heads packed.
#include "rule/factorizers/attention.h"

#include <cstdint>

#include "base/status.h"
#include "base/text.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

enum AttentionOperand : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

// One of q, k, v, whichever form it has.
struct Packed {
  int64_t heads = 0, positions = 0, size = 0;
};

Result<Packed> Unpack(FactorizerContext& context, size_t operand, int64_t heads) {
  const Shape& shape = context.shape(operand);
  if (shape.size() == 4) return Packed{shape[1], shape[2], shape[3]};
  if (heads <= 0) return context.Error("3-d operands need the attributes q_num_heads and kv_num_heads");
  SBP_ASSIGN_OR_RETURN(const int64_t size, HeadSize(context, operand, shape[2], heads));
  return Packed{heads, shape[1], size};
}

Result<AttentionSizes> ReadSizes(FactorizerContext& context) {
  const int rank = context.rank(kQ);
  if (rank != 3 && rank != 4) {
    return context.Error(StrCat("Q must have 3 or 4 dimensions, but is ", ToString(context.type(kQ))));
  }
  for (size_t i : {kK, kV}) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, i, rank));
    SBP_RETURN_IF_ERROR(ExpectDim(context, i, 0, context.shape(kQ)[0], "batch"));
  }
  for (size_t i : {kPastKey, kPastValue}) {
    if (i < context.num_operands()) SBP_RETURN_IF_ERROR(ExpectRank(context, i, 4));
  }
  SBP_ASSIGN_OR_RETURN(const Packed q, Unpack(context, kQ, context.Int("q_num_heads")));
  SBP_ASSIGN_OR_RETURN(const Packed k, Unpack(context, kK, context.Int("kv_num_heads")));
  SBP_ASSIGN_OR_RETURN(const Packed v, Unpack(context, kV, context.Int("kv_num_heads")));
  if (q.size != k.size) return context.Error(StrCat("heads of Q have ", q.size, " elements, those of K ", k.size));
  if (k.heads != v.heads || k.positions != v.positions)
    return context.Error("K and V must have equal heads and positions");
  AttentionSizes sizes;
  sizes.batch = context.shape(kQ)[0];
  sizes.kv_heads = k.heads;
  SBP_ASSIGN_OR_RETURN(sizes.groups, HeadGroups(context, q.heads, k.heads));
  sizes.queries = q.positions;
  sizes.keys = k.positions;
  sizes.past = kPastKey < context.num_operands() && context.has(kPastKey) ? context.shape(kPastKey)[2] : 0;
  sizes.total = sizes.past + sizes.keys;
  sizes.head = q.size;
  sizes.value_head = v.size;
  return sizes;
}

}  // namespace

Status FactorizeAttention(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const AttentionSizes sizes, ReadSizes(context));
  const bool windowed = context.Int("left_window_size", -1) >= 0 || context.Int("right_window_size", -1) >= 0;
  const AttentionFactors f = AddAttentionFactors(context, sizes, context.Int("is_causal") != 0 || windowed);
  const bool packed = context.rank(kQ) == 3;
  for (size_t i : {kQ, kK, kV}) SetOperandDim(context, i, 0, {f.b});
  SetOperandDim(context, kQ, packed ? 1 : 2, {f.s});
  if (packed) {
    SetOperandDim(context, kQ, 2, {f.h, f.g, f.d});
    SetOperandDim(context, kK, 2, {f.h, f.d});
    SetOperandDim(context, kV, 2, {f.h, f.e});
    context.SetResult(0, {sizes.batch, sizes.queries, sizes.query_heads() * sizes.value_head});
    SetResultDim(context, 0, 2, {f.h, f.g, f.e});
  } else {
    SetOperandDim(context, kQ, 1, {f.h, f.g});
    SetOperandDim(context, kQ, 3, {f.d});
    SetOperandDim(context, kK, 1, {f.h});
    SetOperandDim(context, kK, 3, {f.d});
    SetOperandDim(context, kV, 1, {f.h});
    SetOperandDim(context, kV, 3, {f.e});
    context.SetResult(0, {sizes.batch, sizes.query_heads(), sizes.queries, sizes.value_head});
    SetResultDim(context, 0, 1, {f.h, f.g});
    SetResultDim(context, 0, 3, {f.e});
  }
  SetResultDim(context, 0, 0, {f.b});
  SetResultDim(context, 0, packed ? 1 : 2, {f.s});
  PutScores(context, kMask, f);
  PutCache(context, kPastKey, f, f.d);
  PutCache(context, kPastValue, f, f.e);
  if (kLengths < context.num_operands() && context.has(kLengths)) SetOperandDim(context, kLengths, 0, {f.b});
  PutCacheResult(context, 1, sizes, f, false);
  PutCacheResult(context, 2, sizes, f, true);
  PutScoresResult(context, 3, sizes, f);
  return OkStatus();
}

}  // namespace sbp
