#include <algorithm>
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/attention.h"
#include "rule/factorizers/layout.h"

namespace sbp {

AttentionFactors AddAttentionFactors(FactorizerContext& context, const AttentionSizes& sizes, AttentionSight sight) {
  FactorMap& map = context.map();
  AttentionFactors f;
  f.b = map.AddFactor("b", sizes.batch);
  f.h = map.AddFactor("h", sizes.kv_heads);
  f.g = map.AddFactor("g", sizes.groups);
  f.s = map.AddFactor("s", sizes.queries);
  f.d = map.AddFactor("d", sizes.head);
  f.e = map.AddFactor("e", sizes.value_head);
  map.factors[f.d].whole = true;
  map.factors[f.s].aware = !sight.all();
  for (FactorId lacking : {f.g, f.s, f.e}) ComputedWhole(context, lacking);
  map.notes.push_back("the softmax runs over all keys of a finished score, so keys and d stay whole");
  context.out().flops = AttentionFlops(sizes, sight);
  context.out().attention = {.head = static_cast<double>(sizes.head)};
  return f;
}

void PutScores(FactorizerContext& context, size_t operand, const AttentionFactors& f) {
  if (!context.has(operand)) return;
  const int rank = context.rank(operand);
  if (context.out().attention) context.out().attention->mask = true;
  if (rank >= 2) SetOperandDim(context, operand, rank - 2, {f.s});
  if (rank >= 3) SetOperandDim(context, operand, rank - 3, {f.h, f.g});
  if (rank >= 4) SetOperandDim(context, operand, rank - 4, {f.b});
}

void PutScoresResult(FactorizerContext& context, size_t result, const AttentionSizes& sizes,
                     const AttentionFactors& f) {
  if (result >= context.num_results()) return;
  context.SetResult(result, {sizes.batch, sizes.query_heads(), sizes.queries, sizes.total});
  SetResultDim(context, result, 0, {f.b});
  SetResultDim(context, result, 1, {f.h, f.g});
  SetResultDim(context, result, 2, {f.s});
}

void PutCache(FactorizerContext& context, size_t operand, const AttentionFactors& f, FactorId last) {
  if (!context.has(operand)) return;
  SetOperandDim(context, operand, 0, {f.b});
  SetOperandDim(context, operand, 1, {f.h});
  SetOperandDim(context, operand, 3, {last});
}

void PutCacheResult(FactorizerContext& context, size_t result, const AttentionSizes& sizes, const AttentionFactors& f,
                    bool values) {
  if (result >= context.num_results()) return;
  // A cache is declared to be of its past's type; without a past it is of the query's.
  DType& dtype = context.out().results[result].dtype;
  if (dtype == DType::kUndefined) dtype = context.type(kFirstOperand).dtype;
  context.SetResult(result, {sizes.batch, sizes.kv_heads, sizes.total, values ? sizes.value_head : sizes.head});
  SetResultDim(context, result, 0, {f.b});
  SetResultDim(context, result, 1, {f.h});
  SetResultDim(context, result, 3, {values ? f.e : f.d});
}

double AttentionFlops(const AttentionSizes& sizes, AttentionSight sight) {
  const auto queries = static_cast<double>(sizes.queries), total = static_cast<double>(sizes.total);
  const auto past = static_cast<double>(sizes.total - sizes.keys);
  // A query at one end does not see `most` keys, but no more than there are, the one next to it one fewer, and so on
  // through all queries.
  const auto sum_below = [](double most) { return most > 0 ? most * (most + 1) / 2 : 0; };
  const auto unseen = [&](double most) {
    const double beyond = sum_below(most - total) - sum_below(most - total - queries);
    return sum_below(most) - sum_below(most - queries) - beyond;
  };
  double seen = queries * total;
  if (sight.right >= 0) seen -= unseen(total - 1 - past - static_cast<double>(sight.right));
  if (sight.left >= 0) seen -= unseen(past + queries - 1 - static_cast<double>(sight.left));
  return 2.0 * static_cast<double>(sizes.batch) * static_cast<double>(sizes.query_heads()) * std::max(seen, 0.0) *
         (static_cast<double>(sizes.head) + static_cast<double>(sizes.value_head));
}

Result<int64_t> HeadSize(FactorizerContext& context, size_t operand, int64_t width, int64_t heads) {
  if (heads > 0 && width % heads == 0) return width / heads;
  return context.Error(
      StrCat("a width of ", width, " of ", OperandName(context, operand), " does not divide into ", heads, " heads"));
}

Result<int64_t> HeadGroups(FactorizerContext& context, int64_t query_heads, int64_t kv_heads) {
  if (kv_heads > 0 && query_heads > 0 && query_heads % kv_heads == 0) return query_heads / kv_heads;
  return context.Error(StrCat(query_heads, " query heads do not divide among ", kv_heads, " key/value heads"));
}

}  // namespace sbp
