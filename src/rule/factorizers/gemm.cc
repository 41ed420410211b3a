// Gemm: m k, k n (each transposed on demand), and an addend that broadcasts to m n.
#include "base/text.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"

namespace sbp {

// @gemm, @gemm("rounded"): the product is rounded to integers, so that sums over parts of k would be rounded twice.
Status FactorizeGemm(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(ExpectRank(context, 0, "a", 2));
  SBP_RETURN_IF_ERROR(ExpectRank(context, 1, "b", 2));
  const bool trans_a = context.Int("transA") != 0, trans_b = context.Int("transB") != 0;
  const Shape &a = context.shape(0), &b = context.shape(1);
  const int64_t m = a[trans_a ? 1 : 0], k = a[trans_a ? 0 : 1], n = b[trans_b ? 0 : 1];
  if (b[trans_b ? 1 : 0] != k) {
    return context.Error(StrCat("the inner sizes of a ", ToString(context.type(0)), (trans_a ? " (transposed)" : ""),
                                " and b ", ToString(context.type(1)), (trans_b ? " (transposed)" : ""), " differ"));
  }
  context.SetResult(0, {m, n});
  FactorMap& map = context.map();
  const FactorId fm = NewFactor(context, "m", m), fk = NewFactor(context, "k", k), fn = NewFactor(context, "n", n);
  Carry(map.operands[0][trans_a ? 1 : 0], {fm});
  Carry(map.operands[0][trans_a ? 0 : 1], {fk});
  Carry(map.operands[1][trans_b ? 1 : 0], {fk});
  Carry(map.operands[1][trans_b ? 0 : 1], {fn});
  Carry(map.results[0][0], {fm});
  Carry(map.results[0][1], {fn});
  if (context.name_arguments.empty()) {
    ReduceFactor(context, ReduceKind::kSum, fk);
  } else {
    AddNote(context, "k stays whole: the scaled sum is rounded to integers");
  }
  if (context.num_operands() < 3 || !context.has(2)) return OkStatus();
  const Shape& c = context.shape(2);
  const FactorId columns[] = {fm, fn};
  for (size_t d = 0; d < c.size(); ++d) {
    const size_t target = d + 2 - c.size();
    const int64_t want = target == 0 ? m : n;
    if (c.size() > 2 || (c[d] != 1 && c[d] != want)) {
      return context.Error(StrCat("C ", ToString(context.type(2)), " does not broadcast to [", m, ",", n, "]"));
    }
    if (c[d] == want) Carry(map.operands[2][d], {columns[target]});
  }
  return OkStatus();
}

}  // namespace sbp
