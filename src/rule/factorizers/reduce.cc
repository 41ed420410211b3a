// Reductions over axes, and the index of the largest or smallest element.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
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

// How one reduction relates to parts of the reduced dimensions and to partial operands.
struct ReductionRow {
  std::string_view name;
  std::optional<ReduceKind> parts;  // results over parts combine by this kind; none: they do not combine
  bool linear = false;              // P(sum) passes
  std::optional<ReduceKind> keeps;  // P(keeps) passes
  bool averages = false;            // divides by the global number of elements: exact for floats only
  std::string_view why_whole = "";  // where parts do not combine
};

constexpr ReductionRow kReductions[] = {
    {"sum", ReduceKind::kSum, true, std::nullopt, false, ""},
    {"mean", ReduceKind::kSum, true, std::nullopt, true, "a mean of integers rounds: parts do not add up"},
    {"max", ReduceKind::kMax, false, ReduceKind::kMax, false, ""},
    {"min", ReduceKind::kMin, false, ReduceKind::kMin, false, ""},
    {"prod", ReduceKind::kProd, false, ReduceKind::kProd, false, ""},
    {"l1", ReduceKind::kSum, false, std::nullopt, false, ""},
    {"sum_square", ReduceKind::kSum, false, std::nullopt, false, ""},
    {"l2", std::nullopt, false, std::nullopt, false, "the root of a sum is not the sum of roots"},
    {"max_norm", ReduceKind::kMax, false, std::nullopt, false, ""},
    {"min_norm", ReduceKind::kMin, false, std::nullopt, false, ""},
    {"variance", std::nullopt, false, std::nullopt, false, "the variance of parts does not tell that of the whole"},
    {"log_sum", std::nullopt, false, std::nullopt, false, "the logarithm of a sum is not the sum of logarithms"},
    {"log_sum_exp", std::nullopt, false, std::nullopt, false, "the logarithm of a sum is not the sum of logarithms"},
};

// Which dimensions are reduced: an operand, or the attribute of older forms; none given: all, unless told otherwise.
Result<std::vector<bool>> ReducedDims(const FactorizerContext& context, size_t data) {
  std::vector<int64_t> axes;
  if (const size_t given = context.operand("axes"); context.has(given)) {
    SBP_ASSIGN_OR_RETURN(axes, context.ints(given));
  } else {
    axes = context.Ints("axes");
  }
  const bool all = axes.empty() && context.Int("noop_with_empty_axes") == 0;
  std::vector<bool> reduced(context.rank(data), all);
  for (int64_t axis : axes) {
    SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axis, context.rank(data)));
    reduced[d] = true;
  }
  return reduced;
}

// Sets the result's shape and shares the kept dimensions. Returns the factors of the reduced ones.
std::vector<FactorId> ShareKeptDims(FactorizerContext& context, size_t data, const std::vector<bool>& reduced,
                                    bool keep_dims) {
  Shape shape;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) {
      shape.push_back(context.shape(data)[d]);
    } else if (keep_dims) {
      shape.push_back(1);
    }
  }
  context.SetResult(0, std::move(shape));
  std::vector<FactorId> factors;
  size_t next = 0;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) {
      ShareDim(context, data, d, 0, next++);
      continue;
    }
    if (keep_dims) ++next;
    const FactorId f = NewFactor(context, context.shape(data)[d]);
    if (f == kNoFactor) continue;
    Carry(context.map().operands[data][d], {f});
    factors.push_back(f);
  }
  return factors;
}

}  // namespace

Status FactorizeReduce(FactorizerContext& context) {
  const size_t data = context.operand("data");
  const std::string& name = context.name_arguments.at(0);
  const auto* row = std::find_if(std::begin(kReductions), std::end(kReductions),
                                 [&](const ReductionRow& r) { return r.name == name; });
  if (row == std::end(kReductions)) return context.Error(StrCat("no reduction is called ", Quote(name)));
  SBP_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedDims(context, data));
  const std::vector<FactorId> factors = ShareKeptDims(context, data, reduced, context.Int("keepdims", 1) != 0);
  const bool exact = !row->averages || !IsInteger(context.type(data).dtype);
  const bool combines =
      row->parts && exact && (*row->parts != ReduceKind::kSum || IsSummable(context.type(data).dtype));
  for (FactorId f : factors) {
    context.map().factors[f].aware = row->averages;
    if (combines) ReduceFactor(context, *row->parts, f);
  }
  if (!combines && !factors.empty()) AddNote(context, StrCat("the reduced dimensions stay whole: ", row->why_whole));
  if (row->linear && exact) AddLinear(context, {data});
  if (row->keeps) AddPartialSignature(context, *row->keeps, {data});
  return OkStatus();
}

Status FactorizeArgReduce(FactorizerContext& context) {
  const size_t data = context.operand("data");
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis", 0), context.rank(data)));
  std::vector<bool> reduced(context.rank(data), false);
  reduced[axis] = true;
  ShareKeptDims(context, data, reduced, context.Int("keepdims", 1) != 0);
  AddNote(context, StrCat("dimension ", axis, " stays whole: an index alone does not tell which part's element wins"));
  return OkStatus();
}

}  // namespace sbp
