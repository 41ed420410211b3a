// Gemm: m k, k n (each transposed on demand), and an addend that broadcasts to m n.
#include <cstdint>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

Status CarryAddend(FactorizerContext& context, size_t operand, int64_t m, int64_t n, FactorId row, FactorId column) {
  if (!context.has(operand)) return OkStatus();
  const Shape& c = context.shape(operand);
  const FactorId factors[] = {row, column};
  for (size_t d = 0; d < c.size(); ++d) {
    const size_t target = d + 2 - c.size();
    const int64_t want = target == 0 ? m : n;
    if (c.size() > 2 || (c[d] != 1 && c[d] != want)) {
      return context.Error(StrCat("C ", ToString(context.type(operand)), " does not broadcast to [", m, ",", n, "]"));
    }
    if (c[d] == want) Carry(context.map().operands[operand][d], {factors[target]});
  }
  return OkStatus();
}

}  // namespace

// @gemm, @gemm("rounded"): of which sums over parts of k do not add up to the result.
Status FactorizeGemm(FactorizerContext& context) {
  const bool rounded = !context.name_arguments.empty();
  const size_t at_a = context.operand("a"), at_b = context.operand("b");
  SBP_RETURN_IF_ERROR(ExpectRank(context, at_a, "a", 2));
  SBP_RETURN_IF_ERROR(ExpectRank(context, at_b, "b", 2));
  const bool trans_a = context.Int("transA") != 0, trans_b = context.Int("transB") != 0;
  const Shape &a = context.shape(at_a), &b = context.shape(at_b);
  const int64_t m = a[trans_a ? 1 : 0], k = a[trans_a ? 0 : 1], n = b[trans_b ? 0 : 1];
  if (b[trans_b ? 1 : 0] != k) {
    return context.Error(StrCat("the inner sizes of a ", ToString(context.type(at_a)), (trans_a ? " (transposed)" : ""),
                                " and b ", ToString(context.type(at_b)), (trans_b ? " (transposed)" : ""), " differ"));
  }
  context.SetResult(0, {m, n});
  FactorMap& map = context.map();
  const FactorId fm = NewFactor(context, "m", m), fk = NewFactor(context, "k", k), fn = NewFactor(context, "n", n);
  Carry(map.operands[at_a][trans_a ? 1 : 0], {fm});
  Carry(map.operands[at_a][trans_a ? 0 : 1], {fk});
  Carry(map.operands[at_b][trans_b ? 1 : 0], {fk});
  Carry(map.operands[at_b][trans_b ? 0 : 1], {fn});
  Carry(map.results[0][0], {fm});
  Carry(map.results[0][1], {fn});
  if (rounded) {
    AddNote(context, "k stays whole: the scaled sum is rounded to integers");
  } else {
    ReduceFactor(context, ReduceKind::kSum, fk);
  }
  return CarryAddend(context, context.operand("c"), m, n, fm, fn);
}

}  // namespace sbp
