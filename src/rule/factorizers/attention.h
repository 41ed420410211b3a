// What all attention operators have in common: sizes, factors, masks and caches.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"

namespace sbp {

struct AttentionSizes {
  int64_t batch = 1;
  int64_t kv_heads = 1;
  int64_t groups = 1;  // query heads per key/value head
  int64_t queries = 1;
  int64_t keys = 0;   // new ones
  int64_t past = 0;   // cached ones
  int64_t total = 0;  // of which the softmax is taken
  int64_t head = 1;   // elements of a query or key head
  int64_t value_head = 1;
  int64_t query_heads() const { return kv_heads * groups; }
};

struct AttentionFactors {
  FactorId b = -1, h = -1, g = -1, s = -1, d = -1, e = -1;
};

// What a query sees, for which the kernel needs its position unless that is all: keys from `left` before it to `right`
// behind it; below 0: all there are.
struct AttentionSight {
  int64_t left = -1, right = -1;
  bool all() const { return left < 0 && right < 0; }
};
constexpr AttentionSight kCausalSight = {.left = -1, .right = 0};

// Adds the factors b, h, g, s, d (whole) and e, and the flops. Caches and scores that lack g, s or e are computed
// whole.
AttentionFactors AddAttentionFactors(FactorizerContext& context, const AttentionSizes& sizes, AttentionSight sight);

// A mask or bias that broadcasts to (batch, query heads, queries, keys) from the right.
void PutScores(FactorizerContext& context, size_t operand, const AttentionFactors& f);
void PutScoresResult(FactorizerContext& context, size_t result, const AttentionSizes& sizes, const AttentionFactors& f);

// A cache (batch, key/value heads, positions, size); `last` is d or e.
void PutCache(FactorizerContext& context, size_t operand, const AttentionFactors& f, FactorId last);
void PutCacheResult(FactorizerContext& context, size_t result, const AttentionSizes& sizes, const AttentionFactors& f,
                    bool values);

// Scores and weighted sums, each a product of matrices, of what is seen, as kernels leave out blocks of which nothing
// is.
double AttentionFlops(const AttentionSizes& sizes, AttentionSight sight);

// Splits a packed width into heads; an error when it does not divide.
Result<int64_t> HeadSize(FactorizerContext& context, size_t operand, int64_t width, int64_t heads);
// The query heads per key/value head; an error when they do not divide.
Result<int64_t> HeadGroups(FactorizerContext& context, int64_t query_heads, int64_t kv_heads);

}  // namespace sbp
