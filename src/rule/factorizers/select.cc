// Ops that select or order along a dimension. That dimension stays whole; results whose size depends on values are
// taken at their upper bound.
#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/literal.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {

Status FactorizeOneHot(FactorizerContext& context) {
  const Shape& indices = context.shape(0);
  SBP_ASSIGN_OR_RETURN(const double depth, KnownNumber(context, 1));
  if (depth < 1 || depth > 1e18) return context.Error(StrCat("depth must be at least 1, but is ", depth));
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis", -1), context.rank(0) + 1));
  Shape shape = indices;
  shape.insert(shape.begin() + axis, static_cast<int64_t>(depth));
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (d == axis) {
      Carry(context.map().results[0][d], {NewAwareFactor(context, shape[d])});
    } else {
      ShareDim(context, 0, d < axis ? d : d - 1, 0, d);
    }
  }
  return OkStatus();
}

Status FactorizeCompress(FactorizerContext& context) {
  const Shape& in = context.shape(0);
  SBP_RETURN_IF_ERROR(ExpectRank(context, 1, "condition", 1));
  int axis = 0;
  int64_t size = 0;
  const bool flat = !context.HasAttribute("axis");
  if (flat) {
    SBP_ASSIGN_OR_RETURN(size, CountElements(context, in));
  } else {
    SBP_ASSIGN_OR_RETURN(axis, NormalizeAxis(context, context.Int("axis"), context.rank(0)));
    size = in[axis];
  }
  int64_t kept = std::min(size, context.shape(1)[0]);
  if (const Literal* condition = context.value(1);
      condition != nullptr && condition->ints.size() >= static_cast<size_t>(kept)) {
    kept = kept - std::count(condition->ints.begin(), condition->ints.begin() + kept, 0);
  } else {
    const BoundedDim where{0, flat ? 1 : context.rank(0), flat ? 0 : axis};
    kept = SizeWithin(context, {where}, kept, "how many elements the condition keeps");
  }
  Shape shape = flat ? Shape{kept} : in;
  if (!flat) shape[axis] = kept;
  context.SetResult(0, std::move(shape));
  for (int d = 0; !flat && d < context.rank(0); ++d) {
    if (d != axis) ShareDim(context, 0, d, 0, d);
  }
  return OkStatus();
}

Status FactorizeNonZero(FactorizerContext& context) {
  int64_t found = 0;
  SBP_ASSIGN_OR_RETURN(found, CountElements(context, context.shape(0)));
  const Literal* literal = context.value(0);
  if (literal != nullptr && !literal->ints.empty()) {
    found -= std::count(literal->ints.begin(), literal->ints.end(), 0);
  } else {
    found = SizeWithin(context, {{0, 2, 1}}, found, "how many elements are not zero");
  }
  context.SetResult(0, {context.rank(0), found});
  return OkStatus();
}

Status FactorizeUnique(FactorizerContext& context) {
  const Shape& in = context.shape(0);
  SBP_ASSIGN_OR_RETURN(int64_t count, CountElements(context, in));
  Shape values = {count};
  int axis = 0;
  if (context.HasAttribute("axis")) {
    SBP_ASSIGN_OR_RETURN(axis, NormalizeAxis(context, context.Int("axis"), context.rank(0)));
    values = in;
    count = in[axis];
  }
  const BoundedDim of_values{0, static_cast<int>(values.size()), axis};
  const int64_t distinct =
      SizeWithin(context, {of_values, {1, 1, 0}, {3, 1, 0}}, count, "how many elements are distinct");
  values[axis] = distinct;
  context.SetResult(0, std::move(values));
  for (size_t r = 1; r < context.num_results(); ++r) context.SetResult(r, {r == 2 ? count : distinct});
  return OkStatus();
}

Status FactorizeTopK(FactorizerContext& context) {
  const Shape& in = context.shape(0);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis", -1), context.rank(0)));
  int64_t k = in[axis];
  if (const auto known = KnownInts(context, 1); known && known->size() == 1) {
    k = known->front();
  } else {
    k = SizeWithin(context, {{0, context.rank(0), axis}, {1, context.rank(0), axis}}, k, "k", "the whole dimension");
  }
  if (k < 0 || k > in[axis])
    return context.Error(StrCat("k is ", k, ", but dimension ", axis, " has ", in[axis], " elements"));
  Shape shape = in;
  shape[axis] = k;
  for (size_t r = 0; r < context.num_results(); ++r) context.SetResult(r, shape);
  for (int d = 0; d < context.rank(0); ++d) {
    if (d == axis) continue;
    ShareDim(context, 0, d, 0, d);
    for (size_t r = 1; r < context.num_results(); ++r)
      CopyDim(context.map().results[0][d], context.map().results[r][d]);
  }
  AddNote(context, StrCat("dimension ", axis, " is ordered as a whole"));
  return OkStatus();
}

Status FactorizeNonMaxSuppression(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(ExpectRank(context, 0, "boxes", 3));
  SBP_RETURN_IF_ERROR(ExpectRank(context, 1, "scores", 3));
  const Shape& scores = context.shape(1);
  int64_t per_class = scores[2];
  if (context.num_operands() <= 2 || !context.has(2)) {
    per_class = 0;  // the operator's default: no box at all
  } else if (const auto known = KnownInts(context, 2); known && known->size() == 1) {
    per_class = std::clamp<int64_t>(known->front(), 0, scores[2]);
  }
  int64_t selected = SaturatingMul(SaturatingMul(scores[0], scores[1]), per_class);
  SBP_RETURN_IF_ERROR(CountElements(context, {selected, 3}).status());
  selected = SizeWithin(context, {{0, 2, 0}}, selected, "how many boxes are kept", "the most that each class may keep");
  context.SetResult(0, {selected, 3});
  return OkStatus();
}

// CumSum, CumProd: the axis is the value of operand 1.
Status FactorizeKeepWholeOperandAxis(FactorizerContext& context) {
  context.SetResult(0, context.shape(0));
  if (!KnownInts(context, 1)) {
    AddNote(context, "the axis is computed: no dimension can be split");
    return OkStatus();
  }
  SBP_ASSIGN_OR_RETURN(const int64_t value, KnownInt(context, 1));
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, value, context.rank(0)));
  for (int d = 0; d < context.rank(0); ++d) {
    if (d != axis) ShareDim(context, 0, d, 0, d);
  }
  AddNote(context, StrCat("dimension ", axis, " is accumulated in order: a part needs the sum of all parts before it"));
  return OkStatus();
}

Status FactorizeReverseSequence(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const int batch,
                       NormalizeAxis(context, context.Int("batch_axis", 1), context.rank(0), "batch_axis"));
  SBP_ASSIGN_OR_RETURN(const int time,
                       NormalizeAxis(context, context.Int("time_axis", 0), context.rank(0), "time_axis"));
  if (context.shape(1) != Shape{context.shape(0)[batch]} || batch == time) {
    return context.Error(
        "sequence_lens must hold one length for each entry of the batch axis, which is not the time axis");
  }
  context.SetResult(0, context.shape(0));
  for (int d = 0; d < context.rank(0); ++d) {
    if (d != time) ShareDim(context, 0, d, 0, d);
  }
  CopyDim(context.map().operands[0][batch], context.map().operands[1][0]);
  AddNote(context, StrCat("dimension ", time, " is reversed"));
  return OkStatus();
}

}  // namespace sbp
