// Gemm: m k, k n (each transposed on demand), and an addend that broadcasts to m n.
#include <cstdint>
#include <string_view>
#include <vector>

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

// A form of the family: where it has its operands, and why sums over parts of k do not add up to the result (nullptr:
// they do).
struct GemmForm {
  std::string_view name;
  size_t a = 0, b = 1, c = 2;        // c may lie beyond the operands that are given
  std::vector<size_t> per_column{};  // scales and zero points: one for all, or one for each column of the result
  const char* k_is_whole = nullptr;
};

const GemmForm* FindForm(std::string_view name) {
  static const GemmForm kForms[] = {
      {.name = ""},
      {.name = "rounded", .k_is_whole = "k stays whole: the scaled sum is rounded to integers"},
      {.name = "activated", .k_is_whole = "k stays whole: the activation of a sum is not the sum of activations"},
      {.name = "dequantized", .b = 3, .c = 6, .per_column = {4, 5}},
      {.name = "quantized",
       .b = 3,
       .c = 6,
       .per_column = {4, 5},
       .k_is_whole = "k stays whole: the sum over it is rounded to the output's type"},
  };
  for (const GemmForm& form : kForms) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

Status CarryColumns(FactorizerContext& context, const GemmForm& form, int64_t n, FactorId column) {
  for (const size_t i : form.per_column) {
    if (!context.has(i) || context.type(i).num_elements() == 1) continue;
    if (context.shape(i) != Shape{n}) {
      return context.Error(StrCat("operand ", i, " ", ToString(context.type(i)),
                                  " must have one entry, or one for each of ", n, " columns"));
    }
    Carry(context.map().operands[i][0], {column});
  }
  return OkStatus();
}

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

// @gemm, @gemm("rounded" | "activated" | "dequantized" | "quantized")
Status FactorizeGemm(FactorizerContext& context) {
  const GemmForm* form = FindForm(context.name_arguments.empty() ? "" : context.name_arguments[0]);
  if (form == nullptr) return context.Error(StrCat("no form of gemm is called ", Quote(context.name_arguments[0])));
  SBP_RETURN_IF_ERROR(ExpectRank(context, form->a, "a", 2));
  SBP_RETURN_IF_ERROR(ExpectRank(context, form->b, "b", 2));
  const bool trans_a = context.Int("transA") != 0, trans_b = context.Int("transB") != 0;
  const Shape &a = context.shape(form->a), &b = context.shape(form->b);
  const int64_t m = a[trans_a ? 1 : 0], k = a[trans_a ? 0 : 1], n = b[trans_b ? 0 : 1];
  if (b[trans_b ? 1 : 0] != k) {
    return context.Error(StrCat("the inner sizes of a ", ToString(context.type(form->a)),
                                (trans_a ? " (transposed)" : ""), " and b ", ToString(context.type(form->b)),
                                (trans_b ? " (transposed)" : ""), " differ"));
  }
  context.SetResult(0, {m, n});
  FactorMap& map = context.map();
  const FactorId fm = NewFactor(context, "m", m), fk = NewFactor(context, "k", k), fn = NewFactor(context, "n", n);
  Carry(map.operands[form->a][trans_a ? 1 : 0], {fm});
  Carry(map.operands[form->a][trans_a ? 0 : 1], {fk});
  Carry(map.operands[form->b][trans_b ? 1 : 0], {fk});
  Carry(map.operands[form->b][trans_b ? 0 : 1], {fn});
  Carry(map.results[0][0], {fm});
  Carry(map.results[0][1], {fn});
  if (form->k_is_whole == nullptr) {
    ReduceFactor(context, ReduceKind::kSum, fk);
  } else {
    AddNote(context, form->k_is_whole);
  }
  SBP_RETURN_IF_ERROR(CarryColumns(context, *form, n, fn));
  return CarryAddend(context, form->c, m, n, fm, fn);
}

}  // namespace sbp
