// Ops that repeat or pad: dimensions that only the result carries are filled by each rank for its own part.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {

Status FactorizeExpand(FactorizerContext& context) {
  const size_t input = context.operand("input"), target_operand = context.operand("shape");
  const Shape& in = context.shape(input);
  std::vector<int64_t> target;
  if (const auto known = KnownInts(context, target_operand)) {
    target = *known;
  } else if (const auto stated = StatedShape(context, 0)) {
    target = *stated;
  } else {
    return context.ints(target_operand).status();
  }
  const size_t rank = std::max(in.size(), target.size());
  Shape shape(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t have = d + in.size() >= rank ? in[d + in.size() - rank] : 1;
    const int64_t want = d + target.size() >= rank ? target[d + target.size() - rank] : 1;
    if (want < 0 || (have != 1 && want != 1 && have != want)) {
      return context.Error(
          StrCat(ToString(context.type(input)), " does not broadcast with shape [", Join(target, ","), "]"));
    }
    shape[d] = have == 1 ? want : have;
  }
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  for (size_t d = 0; d < rank; ++d) {
    const bool carried = d + in.size() >= rank && in[d + in.size() - rank] == shape[d];
    if (carried) {
      ShareDim(context, input, d + in.size() - rank, 0, d);
    } else {
      Carry(context.map().results[0][d], {NewAwareFactor(context, shape[d])});
    }
  }
  return OkStatus();
}

Status FactorizeTile(FactorizerContext& context) {
  const size_t input = context.operand("input");
  const Shape& in = context.shape(input);
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, context.ints(context.operand("repeats")));
  if (repeats.size() != in.size()) {
    return context.Error(StrCat("repeats [", Join(repeats, ","), "] must have one entry for each dimension of ",
                                ToString(context.type(input))));
  }
  Shape shape;
  for (size_t d = 0; d < in.size(); ++d) {
    if (repeats[d] < 0) return context.Error(StrCat("repeats [", Join(repeats, ","), "] has a negative entry"));
    shape.push_back(SaturatingMul(in[d], repeats[d]));
  }
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  for (size_t d = 0; d < in.size(); ++d) {  // (copies, elements): a rank may hold some of the copies
    if (repeats[d] == 0) continue;
    const FactorId copies = NewAwareFactor(context, repeats[d]);
    Carry(context.map().results[0][d], {copies});
    ShareDim(context, input, d, 0, d);
  }
  return OkStatus();
}

Status FactorizeCenterCropPad(FactorizerContext& context) {
  const size_t input_data = context.operand("input_data");
  const Shape& in = context.shape(input_data);
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, context.ints(context.operand("shape")));
  std::vector<int64_t> axes = context.Ints("axes");
  if (!context.HasAttribute("axes")) {
    for (size_t d = 0; d < in.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  }
  if (axes.size() != sizes.size()) {
    return context.Error(StrCat("shape has ", sizes.size(), " entries for ", axes.size(), " axes"));
  }
  Shape shape = in;
  for (size_t i = 0; i < axes.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axes[i], context.rank(input_data)));
    shape[d] = sizes[i];
  }
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  for (size_t d = 0; d < in.size(); ++d) {
    if (shape[d] == in[d]) {
      ShareDim(context, input_data, d, 0, d);
    } else {
      AddNote(context, StrCat("dimension ", d, " is cropped or padded: its parts would not line up"));
    }
  }
  return OkStatus();
}

}  // namespace sbp
