// onnxruntime's attention operators.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/attention.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// A mask by batch: [b], [b, keys], [b, queries, keys], [b, 1, n, n]; or lengths of all batches in one list ([2 b], [3 b
// + 2]), which stays whole while the kernel picks its own.
void PutPaddingMask(FactorizerContext& context, size_t operand, const AttentionFactors& f) {
  if (!context.has(operand)) return;
  const int64_t batch = context.map().factors[f.b].size;
  if (context.rank(operand) == 0 || context.shape(operand)[0] != batch) {
    context.map().factors[f.b].aware = true;
    return;
  }
  SetOperandDim(context, operand, 0, {f.b});
  if (context.rank(operand) == 3) SetOperandDim(context, operand, 1, {f.s});
}

void PutFirst(FactorizerContext& context, size_t operand, FactorId f) {
  if (context.has(operand) && context.rank(operand) > 0) SetOperandDim(context, operand, 0, {f});
}

// A packed result (batch, positions, heads * size).
void PutPackedResult(FactorizerContext& context, const AttentionSizes& sizes, const AttentionFactors& f) {
  context.SetResult(0, {sizes.batch, sizes.queries, sizes.query_heads() * sizes.value_head});
  SetResultDim(context, 0, 0, {f.b});
  SetResultDim(context, 0, 1, {f.s});
  SetResultDim(context, 0, 2, {f.h, f.g, f.e});
}

// Key or value in one of its forms: (b, t, h * size), (b, h, t, size), or both in one: (b, t, h, 2, size).
void PutKeys(FactorizerContext& context, size_t operand, const AttentionFactors& f, FactorId size) {
  if (!context.has(operand)) return;
  SetOperandDim(context, operand, 0, {f.b});
  if (context.rank(operand) == 3) SetOperandDim(context, operand, 2, {f.h, size});
  if (context.rank(operand) == 4) {
    SetOperandDim(context, operand, 1, {f.h});
    SetOperandDim(context, operand, 3, {size});
  }
  if (context.rank(operand) == 5) SetOperandDim(context, operand, 2, {f.h});
}

struct MultiHeadOperands {
  explicit MultiHeadOperands(const FactorizerContext& context)
      : query(context.operand("query")),
        key(context.operand("key")),
        value(context.operand("value")),
        past_key(context.operand("past_key")),
        past_value(context.operand("past_value")) {}
  size_t query, key, value, past_key, past_value;
};

// The shapes of query, key and value of MultiHeadAttention.
Result<AttentionSizes> ReadMultiHead(FactorizerContext& context, const MultiHeadOperands& at) {
  AttentionSizes sizes;
  const Shape& q = context.shape(at.query);
  if (q.size() != 3 && q.size() != 5) {
    return context.Error(
        StrCat("query must have 3 dimensions, or 5 when packed, but is ", ToString(context.type(at.query))));
  }
  sizes.batch = q[0];
  sizes.queries = sizes.keys = q[1];
  sizes.kv_heads = context.Int("num_heads");
  if (q.size() == 5) {
    sizes.head = q[4];
  } else {
    SBP_ASSIGN_OR_RETURN(sizes.head, HeadSize(context, at.query, q[2], sizes.kv_heads));
  }
  sizes.value_head = sizes.head;
  if (context.has(at.key)) sizes.keys = context.shape(at.key)[context.rank(at.key) == 4 ? 2 : 1];
  if (context.has(at.value) && context.rank(at.value) == 4) sizes.value_head = context.shape(at.value)[3];
  if (context.has(at.value) && context.rank(at.value) == 3) {
    SBP_ASSIGN_OR_RETURN(sizes.value_head, HeadSize(context, at.value, context.shape(at.value)[2], sizes.kv_heads));
  }
  if (context.has(at.past_key)) sizes.past = context.shape(at.past_key)[2];
  // With a past length the cache is a buffer of its final size.
  sizes.total = context.has(context.operand("past_sequence_length")) && context.has(at.past_key)
                    ? sizes.past
                    : sizes.past + sizes.keys;
  return sizes;
}

Status CheckKeyRanks(FactorizerContext& context, const MultiHeadOperands& at) {
  for (size_t i : {at.key, at.value}) {
    if (context.has(i) && (context.rank(i) < 3 || context.rank(i) > 5)) {
      return context.Error(
          StrCat(OperandName(context, i), " must have 3 to 5 dimensions, but is ", ToString(context.type(i))));
    }
  }
  for (size_t cache : {at.past_key, at.past_value}) SBP_RETURN_IF_ERROR(ExpectRank(context, cache, 4));
  return OkStatus();
}

}  // namespace

Status FactorizeMultiHeadAttention(FactorizerContext& context) {
  const MultiHeadOperands at(context);
  SBP_RETURN_IF_ERROR(CheckKeyRanks(context, at));
  SBP_ASSIGN_OR_RETURN(const AttentionSizes sizes, ReadMultiHead(context, at));
  const AttentionFactors f =
      AddAttentionFactors(context, sizes, context.Int("unidirectional") != 0 ? kCausalSight : AttentionSight{});
  FactorMap& map = context.map();
  SetOperandDim(context, at.query, 0, {f.b});
  SetOperandDim(context, at.query, 1, {f.s});
  if (context.rank(at.query) == 5) {
    map.factors[f.s].whole = true;  // queries and keys lie in one tensor
    SetOperandDim(context, at.query, 2, {f.h});
  } else {
    SetOperandDim(context, at.query, 2, {f.h, f.d});
  }
  PutKeys(context, at.key, f, f.d);
  PutKeys(context, at.value, f, f.e);
  if (context.has(context.operand("bias"))) {  // the biases of query, key and value one after the other
    map.factors[f.h].aware = true;
    map.factors[f.e].whole = true;
  }
  PutPaddingMask(context, context.operand("key_padding_mask"), f);
  PutScores(context, context.operand("attention_bias"), f);
  PutCache(context, at.past_key, f, f.d);
  PutCache(context, at.past_value, f, f.e);
  PutFirst(context, context.operand("cache_indirection"), f.b);
  PutPackedResult(context, sizes, f);
  PutCacheResult(context, 1, sizes, f, false);
  PutCacheResult(context, 2, sizes, f, true);
  PutScoresResult(context, 3, sizes, f);
  return OkStatus();
}

// @fused_attention: self-attention with its projection. The columns of the weights are query, key and value, one after
// the other.
Status FactorizeFusedAttention(FactorizerContext& context) {
  const size_t input = context.operand("input"), weights = context.operand("weights"), past = context.operand("past");
  SBP_RETURN_IF_ERROR(ExpectRank(context, input, 3));
  SBP_RETURN_IF_ERROR(ExpectRank(context, weights, 2));
  const Shape& x = context.shape(input);
  SBP_RETURN_IF_ERROR(ExpectDim(context, weights, 0, x[2], "the width of the input"));
  const int64_t columns = context.shape(weights)[1];
  std::vector<int64_t> widths = context.Ints("qkv_hidden_sizes");
  if (widths.empty()) widths.assign(3, columns / 3);
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != columns) {
    return context.Error(
        StrCat("qkv_hidden_sizes must be three widths that add up to the ", columns, " columns of weights"));
  }
  AttentionSizes sizes;
  sizes.batch = x[0];
  sizes.queries = sizes.keys = x[1];
  sizes.kv_heads = context.Int("num_heads");
  SBP_ASSIGN_OR_RETURN(sizes.head, HeadSize(context, weights, widths[0], sizes.kv_heads));
  SBP_ASSIGN_OR_RETURN(sizes.value_head, HeadSize(context, weights, widths[2], sizes.kv_heads));
  if (context.has(past)) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, past, 5));
    sizes.past = context.shape(past)[3];
  }
  sizes.total = context.Int("past_present_share_buffer") != 0 && sizes.past > 0 ? sizes.past : sizes.past + sizes.keys;

  const double projection =
      2.0 * static_cast<double>(columns) * static_cast<double>(context.type(input).num_elements());
  const AttentionFactors f = AddAttentionFactors(context, sizes, AttentionSight{});
  context.out().flops += projection;
  FactorMap& map = context.map();
  map.factors[f.s].whole = true;  // each position is a query and a key
  map.factors[f.e].whole = true;
  map.factors[f.h].aware = true;  // the kernel reads its heads' columns of whole weights
  SetOperandDim(context, input, 0, {f.b});
  PutPaddingMask(context, context.operand("mask_index"), f);
  if (context.has(past)) {
    SetOperandDim(context, past, 1, {f.b});
    SetOperandDim(context, past, 2, {f.h});
  }
  PutScores(context, context.operand("attention_bias"), f);
  PutPackedResult(context, sizes, f);
  if (context.num_results() > 1) {
    context.SetResult(1, {2, sizes.batch, sizes.kv_heads, sizes.total, sizes.head});
    SetResultDim(context, 1, 1, {f.b});
    SetResultDim(context, 1, 2, {f.h});
  }
  return OkStatus();
}

namespace {

struct GroupQueryOperands {
  explicit GroupQueryOperands(const FactorizerContext& context)
      : query(context.operand("query")),
        key(context.operand("key")),
        value(context.operand("value")),
        past_key(context.operand("past_key")),
        past_value(context.operand("past_value")) {}
  size_t query, key, value, past_key, past_value;
};

Result<AttentionSizes> ReadGroupQuery(FactorizerContext& context, const GroupQueryOperands& at) {
  SBP_RETURN_IF_ERROR(ExpectRank(context, at.query, 3));
  AttentionSizes sizes;
  const Shape& q = context.shape(at.query);
  const int64_t query_heads = context.Int("num_heads");
  sizes.kv_heads = context.Int("kv_num_heads");
  SBP_ASSIGN_OR_RETURN(sizes.groups, HeadGroups(context, query_heads, sizes.kv_heads));
  const bool packed = !context.has(at.key);
  SBP_ASSIGN_OR_RETURN(sizes.head,
                       HeadSize(context, at.query, q[2], packed ? query_heads + 2 * sizes.kv_heads : query_heads));
  sizes.value_head = sizes.head;
  sizes.batch = q[0];
  sizes.queries = sizes.keys = q[1];
  if (context.has(at.key)) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, at.key, 3));
    SBP_RETURN_IF_ERROR(ExpectRank(context, at.value, 3));
    sizes.keys = context.shape(at.key)[1];
  }
  if (context.has(at.past_key)) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, at.past_key, 4));
    SBP_RETURN_IF_ERROR(ExpectRank(context, at.past_value, 4));
    sizes.past = context.shape(at.past_key)[2];
  }
  // The cache holds what its buffer holds, or all positions so far, whichever is more.
  const std::optional<double> known = KnownScalar(context, context.operand("total_sequence_length"));
  const TensorType* stated = context.num_results() > 1 ? Stated(context, 1) : nullptr;
  if (known) {
    sizes.total = std::max(sizes.past, static_cast<int64_t>(*known));
  } else if (stated != nullptr && stated->rank() == 4) {
    sizes.total = stated->shape[2];
  } else {
    sizes.total = sizes.past + sizes.keys;
  }
  return sizes;
}

// Scales of a quantised cache: one for all, or one per channel of the key/value heads.
void PutCacheScale(FactorizerContext& context, size_t operand, const AttentionFactors& f) {
  if (!context.has(operand) || context.type(operand).num_elements() <= 1) return;
  if (context.rank(operand) == 1) SetOperandDim(context, operand, 0, {f.h, f.d});
  if (context.rank(operand) == 4) SetOperandDim(context, operand, 1, {f.h});
}

}  // namespace

Status FactorizeGroupQueryAttention(FactorizerContext& context) {
  const GroupQueryOperands at(context);
  SBP_ASSIGN_OR_RETURN(const AttentionSizes sizes, ReadGroupQuery(context, at));
  const int64_t window = context.Int("local_window_size", -1);  // its own position included
  const AttentionSight sight = {.left = window > 0 ? window - 1 : -1, .right = 0};
  const AttentionFactors f = AddAttentionFactors(context, sizes, sight);
  FactorMap& map = context.map();
  map.factors[f.e].whole = true;  // the cache's values have the keys' size and are written in the same way
  SetOperandDim(context, at.query, 0, {f.b});
  SetOperandDim(context, at.query, 1, {f.s});
  if (context.has(at.key)) {
    SetOperandDim(context, at.query, 2, {f.h, f.g, f.d});
    PutKeys(context, at.key, f, f.d);
    PutKeys(context, at.value, f, f.e);
  } else {
    map.factors[f.s].whole = true;  // queries, keys and values lie in one tensor
    map.factors[f.h].aware = true;
  }
  PutCache(context, at.past_key, f, -1);
  PutCache(context, at.past_value, f, -1);
  PutFirst(context, context.operand("seqlens_k"), f.b);
  // Keys are turned by them too, so that every rank that splits the queries needs all of a batch entry.
  const size_t position_ids = context.operand("position_ids");
  if (context.has(position_ids) && context.rank(position_ids) == 2) SetOperandDim(context, position_ids, 0, {f.b});
  PutScores(context, context.operand("attention_bias"), f);
  SetOperandDim(context, context.operand("head_sink"), 0, {f.h, f.g});
  PutCacheScale(context, context.operand("k_scale"), f);
  PutCacheScale(context, context.operand("v_scale"), f);
  PutPackedResult(context, sizes, f);
  PutCacheResult(context, 1, sizes, f, false);
  PutCacheResult(context, 2, sizes, f, true);
  PutScoresResult(context, 3, sizes, f);
  return OkStatus();
}

}  // namespace sbp
