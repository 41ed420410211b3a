// Ops that select or order along a dimension. That dimension stays whole; results whose size depends on values are
// taken at their upper bound.
#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/literal.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {

Status FactorizeOneHot(FactorizerContext& context) {
  const size_t indices = context.operand("indices");
  const Shape& in = context.shape(indices);
  SBP_ASSIGN_OR_RETURN(const double depth, KnownNumber(context, context.operand("depth")));
  if (depth < 1 || depth > 1e18)
    return context.Error(StrCat("depth must be at least 1, but is ", FormatGeneral(depth)));
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis", -1), context.rank(indices) + 1));
  Shape shape = in;
  shape.insert(shape.begin() + axis, static_cast<int64_t>(depth));
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (d == axis) {
      Carry(context.map().results[0][d], {NewAwareFactor(context, shape[d])});
    } else {
      ShareDim(context, indices, d < axis ? d : d - 1, 0, d);
    }
  }
  return OkStatus();
}

Status FactorizeCompress(FactorizerContext& context) {
  const size_t input = context.operand("input"), condition = context.operand("condition");
  const Shape& in = context.shape(input);
  SBP_RETURN_IF_ERROR(ExpectRank(context, condition, "condition", 1));
  int axis = 0;
  int64_t size = 0;
  const bool flat = !context.HasAttribute("axis");
  if (flat) {
    SBP_ASSIGN_OR_RETURN(size, CountElements(context, in));
  } else {
    SBP_ASSIGN_OR_RETURN(axis, NormalizeAxis(context, context.Int("axis"), context.rank(input)));
    size = in[axis];
  }
  int64_t kept = std::min(size, context.shape(condition)[0]);
  if (const Literal* known = context.value(condition);
      known != nullptr && known->ints.size() >= static_cast<size_t>(kept)) {
    kept = kept - std::count(known->ints.begin(), known->ints.begin() + kept, 0);
  } else {
    const BoundedDim where{0, flat ? 1 : context.rank(input), flat ? 0 : axis};
    kept = SizeWithin(context, {where}, kept, "how many elements the condition keeps");
  }
  Shape shape = flat ? Shape{kept} : in;
  if (!flat) shape[axis] = kept;
  context.SetResult(0, std::move(shape));
  for (int d = 0; !flat && d < context.rank(input); ++d) {
    if (d != axis) ShareDim(context, input, d, 0, d);
  }
  return OkStatus();
}

Status FactorizeNonZero(FactorizerContext& context) {
  const size_t x = context.operand("X");
  int64_t found = 0;
  SBP_ASSIGN_OR_RETURN(found, CountElements(context, context.shape(x)));
  const Literal* literal = context.value(x);
  if (literal != nullptr && !literal->ints.empty()) {
    found -= std::count(literal->ints.begin(), literal->ints.end(), 0);
  } else {
    found = SizeWithin(context, {{0, 2, 1}}, found, "how many elements are not zero");
  }
  context.SetResult(0, {context.rank(x), found});
  return OkStatus();
}

Status FactorizeUnique(FactorizerContext& context) {
  const size_t x = context.operand("X");
  const Shape& in = context.shape(x);
  SBP_ASSIGN_OR_RETURN(int64_t count, CountElements(context, in));
  Shape values = {count};
  int axis = 0;
  if (context.HasAttribute("axis")) {
    SBP_ASSIGN_OR_RETURN(axis, NormalizeAxis(context, context.Int("axis"), context.rank(x)));
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
  const size_t x = context.operand("X");
  const Shape& in = context.shape(x);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis", -1), context.rank(x)));
  int64_t k = in[axis];
  if (const auto known = KnownInts(context, context.operand("K")); known && known->size() == 1) {
    k = known->front();
  } else {
    k = SizeWithin(context, {{0, context.rank(x), axis}, {1, context.rank(x), axis}}, k, "k", "the whole dimension");
  }
  if (k < 0 || k > in[axis])
    return context.Error(StrCat("k is ", k, ", but dimension ", axis, " has ", in[axis], " elements"));
  Shape shape = in;
  shape[axis] = k;
  for (size_t r = 0; r < context.num_results(); ++r) context.SetResult(r, shape);
  for (int d = 0; d < context.rank(x); ++d) {
    if (d == axis) continue;
    ShareDim(context, x, d, 0, d);
    for (size_t r = 1; r < context.num_results(); ++r)
      CopyDim(context.map().results[0][d], context.map().results[r][d]);
  }
  AddNote(context, StrCat("dimension ", axis, " is ordered as a whole"));
  return OkStatus();
}

Status FactorizeNonMaxSuppression(FactorizerContext& context) {
  const size_t boxes = context.operand("boxes"), scores = context.operand("scores");
  const size_t max_output_boxes_per_class = context.operand("max_output_boxes_per_class");
  SBP_RETURN_IF_ERROR(ExpectRank(context, boxes, "boxes", 3));
  SBP_RETURN_IF_ERROR(ExpectRank(context, scores, "scores", 3));
  const Shape& shape = context.shape(scores);
  int64_t per_class = shape[2];
  if (!context.has(max_output_boxes_per_class)) {
    per_class = 0;  // the operator's default: no box at all
  } else if (const auto known = KnownInts(context, max_output_boxes_per_class); known && known->size() == 1) {
    per_class = std::clamp<int64_t>(known->front(), 0, shape[2]);
  }
  int64_t selected = SaturatingMul(SaturatingMul(shape[0], shape[1]), per_class);
  SBP_RETURN_IF_ERROR(CountElements(context, {selected, 3}).status());
  selected = SizeWithin(context, {{0, 2, 0}}, selected, "how many boxes are kept", "the most that each class may keep");
  context.SetResult(0, {selected, 3});
  return OkStatus();
}

// CumSum, CumProd: the axis is the value of an operand.
Status FactorizeKeepWholeOperandAxis(FactorizerContext& context) {
  const size_t x = context.operand("x"), axis_operand = context.operand("axis");
  context.SetResult(0, context.shape(x));
  if (!KnownInts(context, axis_operand)) {
    AddNote(context, "the axis is computed: no dimension can be split");
    return OkStatus();
  }
  SBP_ASSIGN_OR_RETURN(const int64_t value, KnownInt(context, axis_operand));
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, value, context.rank(x)));
  for (int d = 0; d < context.rank(x); ++d) {
    if (d != axis) ShareDim(context, x, d, 0, d);
  }
  AddNote(context, StrCat("dimension ", axis, " is accumulated in order: a part needs the sum of all parts before it"));
  return OkStatus();
}

Status FactorizeReverseSequence(FactorizerContext& context) {
  const size_t input = context.operand("input"), sequence_lens = context.operand("sequence_lens");
  SBP_ASSIGN_OR_RETURN(const int batch,
                       NormalizeAxis(context, context.Int("batch_axis", 1), context.rank(input), "batch_axis"));
  SBP_ASSIGN_OR_RETURN(const int time,
                       NormalizeAxis(context, context.Int("time_axis", 0), context.rank(input), "time_axis"));
  if (context.shape(sequence_lens) != Shape{context.shape(input)[batch]} || batch == time) {
    return context.Error(
        "sequence_lens must hold one length for each entry of the batch axis, which is not the time axis");
  }
  context.SetResult(0, context.shape(input));
  for (int d = 0; d < context.rank(input); ++d) {
    if (d != time) ShareDim(context, input, d, 0, d);
  }
  CopyDim(context.map().operands[input][batch], context.map().operands[sequence_lens][0]);
  AddNote(context, StrCat("dimension ", time, " is reversed"));
  return OkStatus();
}

}  // namespace sbp
