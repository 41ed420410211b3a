// The standard's Attention: q, k, v of 4 dimensions (batch, heads, positions, size), or of 3 with the heads packed.
#include "rule/factorizers/attention.h"

#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct AttentionOperands {
  explicit AttentionOperands(const FactorizerContext& context)
      : q(context.operand("Q")),
        k(context.operand("K")),
        v(context.operand("V")),
        past_key(context.operand("past_key")),
        past_value(context.operand("past_value")) {}
  size_t q, k, v, past_key, past_value;
};

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

Result<AttentionSizes> ReadSizes(FactorizerContext& context, const AttentionOperands& at) {
  const int rank = context.rank(at.q);
  if (rank != 3 && rank != 4) {
    return context.Error(StrCat("Q must have 3 or 4 dimensions, but is ", ToString(context.type(at.q))));
  }
  for (size_t i : {at.k, at.v}) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, i, rank));
    SBP_RETURN_IF_ERROR(ExpectDim(context, i, 0, context.shape(at.q)[0], "batch"));
  }
  for (size_t i : {at.past_key, at.past_value}) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, i, 4));
  }
  SBP_ASSIGN_OR_RETURN(const Packed q, Unpack(context, at.q, context.Int("q_num_heads")));
  SBP_ASSIGN_OR_RETURN(const Packed k, Unpack(context, at.k, context.Int("kv_num_heads")));
  SBP_ASSIGN_OR_RETURN(const Packed v, Unpack(context, at.v, context.Int("kv_num_heads")));
  if (q.size != k.size) return context.Error(StrCat("heads of Q have ", q.size, " elements, those of K ", k.size));
  if (k.heads != v.heads || k.positions != v.positions)
    return context.Error("K and V must have equal heads and positions");
  AttentionSizes sizes;
  sizes.batch = context.shape(at.q)[0];
  sizes.kv_heads = k.heads;
  SBP_ASSIGN_OR_RETURN(sizes.groups, HeadGroups(context, q.heads, k.heads));
  sizes.queries = q.positions;
  sizes.keys = k.positions;
  sizes.past = context.has(at.past_key) ? context.shape(at.past_key)[2] : 0;
  sizes.total = sizes.past + sizes.keys;
  sizes.head = q.size;
  sizes.value_head = v.size;
  return sizes;
}

// One number per row of scores, of at least 32 bits.
void PutLogSumExp(FactorizerContext& context, const AttentionSizes& sizes, const AttentionFactors& f) {
  constexpr size_t kResult = 4;
  if (kResult >= context.num_results()) return;
  const DType type = context.type(kFirstOperand).dtype;
  context.out().results[kResult].dtype = type == DType::kF64 ? type : DType::kF32;
  context.SetResult(kResult, {sizes.batch, sizes.query_heads(), sizes.queries});
  SetResultDim(context, kResult, 0, {f.b});
  SetResultDim(context, kResult, 1, {f.h, f.g});
  SetResultDim(context, kResult, 2, {f.s});
}

}  // namespace

Status FactorizeAttention(FactorizerContext& context) {
  const AttentionOperands at(context);
  SBP_ASSIGN_OR_RETURN(const AttentionSizes sizes, ReadSizes(context, at));
  const int64_t right = context.Int("is_causal") != 0 ? 0 : context.Int("right_window_size", -1);
  const AttentionSight sight = {.left = context.Int("left_window_size", -1), .right = right};
  const AttentionFactors f = AddAttentionFactors(context, sizes, sight);
  const bool packed = context.rank(at.q) == 3;
  for (size_t i : {at.q, at.k, at.v}) SetOperandDim(context, i, 0, {f.b});
  SetOperandDim(context, at.q, packed ? 1 : 2, {f.s});
  if (packed) {
    SetOperandDim(context, at.q, 2, {f.h, f.g, f.d});
    SetOperandDim(context, at.k, 2, {f.h, f.d});
    SetOperandDim(context, at.v, 2, {f.h, f.e});
    context.SetResult(0, {sizes.batch, sizes.queries, sizes.query_heads() * sizes.value_head});
    SetResultDim(context, 0, 2, {f.h, f.g, f.e});
  } else {
    SetOperandDim(context, at.q, 1, {f.h, f.g});
    SetOperandDim(context, at.q, 3, {f.d});
    SetOperandDim(context, at.k, 1, {f.h});
    SetOperandDim(context, at.k, 3, {f.d});
    SetOperandDim(context, at.v, 1, {f.h});
    SetOperandDim(context, at.v, 3, {f.e});
    context.SetResult(0, {sizes.batch, sizes.query_heads(), sizes.queries, sizes.value_head});
    SetResultDim(context, 0, 1, {f.h, f.g});
    SetResultDim(context, 0, 3, {f.e});
  }
  SetResultDim(context, 0, 0, {f.b});
  SetResultDim(context, 0, packed ? 1 : 2, {f.s});
  PutScores(context, context.operand("attn_mask"), f);
  PutCache(context, at.past_key, f, f.d);
  PutCache(context, at.past_value, f, f.e);
  SetOperandDim(context, context.operand("nonpad_kv_seqlen"), 0, {f.b});
  PutCacheResult(context, 1, sizes, f, false);
  PutCacheResult(context, 2, sizes, f, true);
  PutScoresResult(context, 3, sizes, f);
  PutLogSumExp(context, sizes, f);
  return OkStatus();
}

}  // namespace sbp
