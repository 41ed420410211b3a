// Slice and Pad: a dimension that is touched stays whole, the others are shared.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// One sliced dimension.
struct Cut {
  int dim = 0;
  int64_t start = 0, end = 0, step = 1;
};

// Elements that a cut takes of a dimension (numpy's rules: ends clamp, negative ones count from the end).
int64_t CutSize(const Cut& cut, int64_t size) {
  const bool forward = cut.step > 0;
  const auto clamp = [&](int64_t at) {
    if (at < 0) at = std::max<int64_t>(at, -size - 1) + size;  // at most one before the start
    return forward ? std::clamp<int64_t>(at, 0, size) : std::clamp<int64_t>(at, -1, size - 1);
  };
  const int64_t start = clamp(cut.start), end = clamp(cut.end);
  if (forward) return start >= end ? 0 : 1 + (end - start - 1) / cut.step;
  // -step would overflow for the smallest integer; any step that large takes one element.
  const int64_t stride = cut.step == std::numeric_limits<int64_t>::min() ? kInt64Max : -cut.step;
  return start <= end ? 0 : 1 + (start - end - 1) / stride;
}

Result<std::vector<Cut>> ReadCuts(const FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, context.ints(1));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, context.ints(2));
  std::vector<int64_t> axes, steps(starts.size(), 1);
  if (context.num_operands() > 3 && context.has(3)) {
    SBP_ASSIGN_OR_RETURN(axes, context.ints(3));
  } else {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (context.num_operands() > 4 && context.has(4)) {
    SBP_ASSIGN_OR_RETURN(steps, context.ints(4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return context.Error(StrCat("starts, ends, axes and steps must have equally many entries, but have ", starts.size(),
                                ", ", ends.size(), ", ", axes.size(), ", ", steps.size()));
  }
  std::vector<Cut> cuts;
  for (size_t i = 0; i < starts.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axes[i], context.rank(0)));
    if (steps[i] == 0) return context.Error("a step is 0");
    cuts.push_back({d, starts[i], ends[i], steps[i]});
  }
  return cuts;
}

// Bounds that are computed: no more than the whole of each dimension that is cut (all of them, if that is not known).
Status SliceAtBound(FactorizerContext& context) {
  std::vector<bool> cut(context.rank(0), true);
  const bool has_axes = context.num_operands() > 3 && context.has(3);
  const auto axes = KnownInts(context, 3);
  if (axes || !has_axes) {
    // Without axes, the first dimensions are cut: as many as `starts` has elements.
    std::vector<int64_t> dims = axes.value_or(std::vector<int64_t>{});
    if (!has_axes && context.has(1) && context.rank(1) == 1) {
      for (int64_t i = 0; i < std::min<int64_t>(context.shape(1)[0], context.rank(0)); ++i) dims.push_back(i);
    }
    cut.assign(cut.size(), false);
    for (int64_t axis : dims) {
      SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axis, context.rank(0)));
      cut[d] = true;
    }
  }
  // What the model states of the dimensions that are cut, where that is no more than the whole.
  Shape shape = context.shape(0);
  const std::vector<TensorType>& stated = context.query().stated;
  const bool says = !stated.empty() && stated[0].has_rank && stated[0].rank() == context.rank(0);
  bool bounded = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!cut[d]) continue;
    const int64_t size = says ? stated[0].shape[d] : kUnknownDim;
    const bool fits = size != kUnknownDim && size <= shape[d];
    if (fits) shape[d] = size;
    bounded = bounded || !fits;
    if (!fits) context.out().computed_sizes.push_back({{{0, static_cast<int>(d)}}});
  }
  context.SetResult(0, std::move(shape));
  if (bounded) SetBounded(context, "where the slice starts or ends is computed: taken as the whole dimension");
  for (int d = 0; d < context.rank(0); ++d) {
    if (!cut[d] && context.out().results[0].shape[d] == context.shape(0)[d]) ShareDim(context, 0, d, 0, d);
  }
  return OkStatus();
}

}  // namespace

Status FactorizeSlice(FactorizerContext& context) {
  const Shape& in = context.shape(0);
  for (size_t i = 1; i < context.num_operands(); ++i) {
    if (context.has(i) && context.value(i) == nullptr) return SliceAtBound(context);
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<Cut> cuts, ReadCuts(context));
  Shape shape = in;
  std::vector<bool> touched(in.size(), false);
  for (const Cut& cut : cuts) {
    shape[cut.dim] = CutSize(cut, in[cut.dim]);
    touched[cut.dim] = shape[cut.dim] != in[cut.dim] || (cut.step != 1 && in[cut.dim] > 1);
  }
  context.SetResult(0, std::move(shape));
  for (size_t d = 0; d < in.size(); ++d) {
    if (!touched[d]) {
      ShareDim(context, 0, d, 0, d);
    } else {
      AddNote(context, StrCat("dimension ", d, " is sliced: its parts would not line up"));
    }
  }
  return OkStatus();
}

Status FactorizePad(FactorizerContext& context) {
  const Shape& in = context.shape(0);
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, context.ints(1));
  std::vector<int64_t> axes;
  if (context.num_operands() > 3 && context.has(3)) {
    SBP_ASSIGN_OR_RETURN(axes, context.ints(3));
  } else {
    for (size_t d = 0; d < in.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  }
  if (pads.size() != 2 * axes.size()) {
    return context.Error(
        StrCat("pads must have two entries for each of ", axes.size(), " axes, but has ", pads.size()));
  }
  Shape shape = in;
  std::vector<bool> touched(in.size(), false);
  for (size_t i = 0; i < axes.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axes[i], context.rank(0)));
    const int64_t before = pads[i], after = pads[i + axes.size()];
    const auto padded = CheckedAdd(before, after);
    const auto size = padded ? CheckedAdd(shape[d], *padded) : std::nullopt;
    if (!size || *size < 0) return context.Error(StrCat("pads ", before, " and ", after, " do not fit dimension ", d));
    shape[d] = *size;
    touched[d] = touched[d] || before != 0 || after != 0;
  }
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, std::move(shape));
  for (size_t d = 0; d < in.size(); ++d) {
    if (!touched[d]) {
      ShareDim(context, 0, d, 0, d);
    } else {
      AddNote(context, StrCat("dimension ", d, " is padded: its parts would not line up"));
    }
  }
  // Reflected, repeated and zero borders are linear in the data; any other constant only jointly with the data.
  const bool has_constant = context.num_operands() > 2 && context.has(2);
  const bool reads_constant = context.String("mode", "constant") == "constant" && has_constant;
  const Literal* constant = has_constant ? context.value(2) : nullptr;
  const bool zero = constant != nullptr &&
                    std::all_of(constant->ints.begin(), constant->ints.end(), [](int64_t v) { return v == 0; }) &&
                    std::all_of(constant->floats.begin(), constant->floats.end(), [](double v) { return v == 0; });
  if (!reads_constant || zero) AddLinear(context, {0});
  if (reads_constant) AddLinear(context, {0, 2});
  AddMonotone(context, {0});
  return OkStatus();
}

}  // namespace sbp
