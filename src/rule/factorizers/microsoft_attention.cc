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

// The shapes of query, key and value of MultiHeadAttention.
Result<AttentionSizes> ReadMultiHead(FactorizerContext& context) {
  AttentionSizes sizes;
  const Shape& q = context.shape(0);
  if (q.size() != 3 && q.size() != 5) {
    return context.Error(StrCat("query must have 3 dimensions, or 5 when packed, but is ", ToString(context.type(0))));
  }
  sizes.batch = q[0];
  sizes.queries = sizes.keys = q[1];
  sizes.kv_heads = context.Int("num_heads");
  if (q.size() == 5) {
    sizes.head = q[4];
  } else {
    SBP_ASSIGN_OR_RETURN(sizes.head, HeadSize(context, 0, q[2], sizes.kv_heads));
  }
  sizes.value_head = sizes.head;
  if (context.has(1)) sizes.keys = context.shape(1)[context.rank(1) == 4 ? 2 : 1];
  if (context.has(2) && context.rank(2) == 4) sizes.value_head = context.shape(2)[3];
  if (context.has(2) && context.rank(2) == 3) {
    SBP_ASSIGN_OR_RETURN(sizes.value_head, HeadSize(context, 2, context.shape(2)[2], sizes.kv_heads));
  }
  if (context.has(6)) sizes.past = context.shape(6)[2];
  // With a past length the cache is a buffer of its final size.
  sizes.total = context.has(8) && context.has(6) ? sizes.past : sizes.past + sizes.keys;
  return sizes;
}

Status CheckKeyRanks(FactorizerContext& context) {
  for (size_t i : {1, 2}) {
    if (context.has(i) && (context.rank(i) < 3 || context.rank(i) > 5)) {
      return context.Error(
          StrCat(OperandName(context, i), " must have 3 to 5 dimensions, but is ", ToString(context.type(i))));
    }
  }
  for (size_t cache : {6, 7}) {
    if (cache < context.num_operands()) SBP_RETURN_IF_ERROR(ExpectRank(context, cache, 4));
  }
  return OkStatus();
}

}  // namespace

Status FactorizeMultiHeadAttention(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(CheckKeyRanks(context));
  SBP_ASSIGN_OR_RETURN(const AttentionSizes sizes, ReadMultiHead(context));
  const AttentionFactors f = AddAttentionFactors(context, sizes, context.Int("unidirectional") != 0);
  FactorMap& map = context.map();
  SetOperandDim(context, 0, 0, {f.b});
  SetOperandDim(context, 0, 1, {f.s});
  if (context.rank(0) == 5) {
    map.factors[f.s].whole = true;  // queries and keys lie in one tensor
    SetOperandDim(context, 0, 2, {f.h});
  } else {
    SetOperandDim(context, 0, 2, {f.h, f.d});
  }
  PutKeys(context, 1, f, f.d);
  PutKeys(context, 2, f, f.e);
  if (context.has(3)) {  // the biases of query, key and value one after the other
    map.factors[f.h].aware = true;
    map.factors[f.e].whole = true;
  }
  PutPaddingMask(context, 4, f);
  PutScores(context, 5, f);
  PutCache(context, 6, f, f.d);
  PutCache(context, 7, f, f.e);
  PutFirst(context, 9, f.b);
  PutPackedResult(context, sizes, f);
  PutCacheResult(context, 1, sizes, f, false);
  PutCacheResult(context, 2, sizes, f, true);
  PutScoresResult(context, 3, sizes, f);
  return OkStatus();
}

// @fused_attention, @fused_attention("quantized"): self-attention with its projection. The columns of the weights are
// query, key and value, one after the other.
Status FactorizeFusedAttention(FactorizerContext& context) {
  const bool quantized = !context.name_arguments.empty();  // scales before the mask, zero points behind it
  const size_t mask = quantized ? 5 : 3, past = quantized ? 8 : 4;
  SBP_RETURN_IF_ERROR(ExpectRank(context, 0, 3));
  SBP_RETURN_IF_ERROR(ExpectRank(context, 1, 2));
  const Shape& x = context.shape(0);
  SBP_RETURN_IF_ERROR(ExpectDim(context, 1, 0, x[2], "the width of the input"));
  const int64_t columns = context.shape(1)[1];
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
  SBP_ASSIGN_OR_RETURN(sizes.head, HeadSize(context, 1, widths[0], sizes.kv_heads));
  SBP_ASSIGN_OR_RETURN(sizes.value_head, HeadSize(context, 1, widths[2], sizes.kv_heads));
  if (context.has(past)) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, past, 5));
    sizes.past = context.shape(past)[3];
  }
  sizes.total = context.Int("past_present_share_buffer") != 0 && sizes.past > 0 ? sizes.past : sizes.past + sizes.keys;

  const double projection = 2.0 * static_cast<double>(columns) * static_cast<double>(context.type(0).num_elements());
  const AttentionFactors f = AddAttentionFactors(context, sizes, false);
  context.out().flops += projection;
  FactorMap& map = context.map();
  map.factors[f.s].whole = true;  // each position is a query and a key
  map.factors[f.e].whole = true;
  map.factors[f.h].aware = true;  // the kernel reads its heads' columns of whole weights
  SetOperandDim(context, 0, 0, {f.b});
  PutPaddingMask(context, mask, f);
  if (context.has(past)) {
    SetOperandDim(context, past, 1, {f.b});
    SetOperandDim(context, past, 2, {f.h});
  }
  if (!quantized) PutScores(context, 5, f);
  PutPackedResult(context, sizes, f);
  if (context.num_results() > 1) {
    context.SetResult(1, {2, sizes.batch, sizes.kv_heads, sizes.total, sizes.head});
    SetResultDim(context, 1, 1, {f.b});
    SetResultDim(context, 1, 2, {f.h});
  }
  return OkStatus();
}

namespace {

enum GroupQuery : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale
};

Result<AttentionSizes> ReadGroupQuery(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(ExpectRank(context, kQuery, 3));
  AttentionSizes sizes;
  const Shape& q = context.shape(kQuery);
  const int64_t query_heads = context.Int("num_heads");
  sizes.kv_heads = context.Int("kv_num_heads");
  SBP_ASSIGN_OR_RETURN(sizes.groups, HeadGroups(context, query_heads, sizes.kv_heads));
  const bool packed = !context.has(kKey);
  SBP_ASSIGN_OR_RETURN(sizes.head,
                       HeadSize(context, kQuery, q[2], packed ? query_heads + 2 * sizes.kv_heads : query_heads));
  sizes.value_head = sizes.head;
  sizes.batch = q[0];
  sizes.queries = sizes.keys = q[1];
  if (context.has(kKey)) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, kKey, 3));
    SBP_RETURN_IF_ERROR(ExpectRank(context, kValue, 3));
    sizes.keys = context.shape(kKey)[1];
  }
  if (context.has(kPastKey)) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, kPastKey, 4));
    SBP_RETURN_IF_ERROR(ExpectRank(context, kPastValue, 4));
    sizes.past = context.shape(kPastKey)[2];
  }
  // The cache holds what its buffer holds, or all positions so far, whichever is more.
  const std::optional<double> known = KnownScalar(context, kTotal);
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
  SBP_ASSIGN_OR_RETURN(const AttentionSizes sizes, ReadGroupQuery(context));
  const AttentionFactors f = AddAttentionFactors(context, sizes, true);
  FactorMap& map = context.map();
  map.factors[f.e].whole = true;  // the cache's values have the keys' size and are written in the same way
  SetOperandDim(context, kQuery, 0, {f.b});
  SetOperandDim(context, kQuery, 1, {f.s});
  if (context.has(kKey)) {
    SetOperandDim(context, kQuery, 2, {f.h, f.g, f.d});
    PutKeys(context, kKey, f, f.d);
    PutKeys(context, kValue, f, f.e);
  } else {
    map.factors[f.s].whole = true;  // queries, keys and values lie in one tensor
    map.factors[f.h].aware = true;
  }
  PutCache(context, kPastKey, f, -1);
  PutCache(context, kPastValue, f, -1);
  PutFirst(context, kLengths, f.b);
  // Keys are turned by them too, so that every rank that splits the queries needs all of a batch entry.
  if (context.has(kPositions) && context.rank(kPositions) == 2) SetOperandDim(context, kPositions, 0, {f.b});
  PutScores(context, kBias, f);
  if (context.has(kSink)) SetOperandDim(context, kSink, 0, {f.h, f.g});
  PutCacheScale(context, kKeyScale, f);
  PutCacheScale(context, kValueScale, f);
  PutPackedResult(context, sizes, f);
  PutCacheResult(context, 1, sizes, f, false);
  PutCacheResult(context, 2, sizes, f, true);
  PutScoresResult(context, 3, sizes, f);
  return OkStatus();
}

}  // namespace sbp
