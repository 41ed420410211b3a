// Slice and Pad: a dimension that is touched stays whole, the others are shared.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
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

Result<std::vector<Cut>> ReadCuts(const FactorizerContext& context, int rank) {
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, context.ints(context.operand("starts")));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, context.ints(context.operand("ends")));
  std::vector<int64_t> axes, steps(starts.size(), 1);
  if (const size_t given = context.operand("axes"); context.has(given)) {
    SBP_ASSIGN_OR_RETURN(axes, context.ints(given));
  } else {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (const size_t given = context.operand("steps"); context.has(given)) {
    SBP_ASSIGN_OR_RETURN(steps, context.ints(given));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return context.Error(StrCat("starts, ends, axes and steps must have equally many entries, but have ", starts.size(),
                                ", ", ends.size(), ", ", axes.size(), ", ", steps.size()));
  }
  std::vector<Cut> cuts;
  for (size_t i = 0; i < starts.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axes[i], rank));
    if (steps[i] == 0) return context.Error("a step is 0");
    cuts.push_back({d, starts[i], ends[i], steps[i]});
  }
  return cuts;
}

// Bounds that are computed: no more than the whole of each dimension that is cut (all of them, if that is not known).
Status SliceAtBound(FactorizerContext& context, size_t data) {
  const size_t starts = context.operand("starts");
  std::vector<bool> cut(context.rank(data), true);
  const bool has_axes = context.has(context.operand("axes"));
  const auto axes = KnownInts(context, context.operand("axes"));
  if (axes || !has_axes) {
    // Without axes, the first dimensions are cut: as many as `starts` has elements.
    std::vector<int64_t> dims = axes.value_or(std::vector<int64_t>{});
    if (!has_axes && context.has(starts) && context.rank(starts) == 1) {
      for (int64_t i = 0; i < std::min<int64_t>(context.shape(starts)[0], context.rank(data)); ++i) dims.push_back(i);
    }
    cut.assign(cut.size(), false);
    for (int64_t axis : dims) {
      SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axis, context.rank(data)));
      cut[d] = true;
    }
  }
  // What the model states of the dimensions that are cut, where that is no more than the whole.
  Shape shape = context.shape(data);
  const std::vector<TensorType>& stated = context.query().stated;
  const bool says = !stated.empty() && stated[0].has_rank && stated[0].rank() == context.rank(data);
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
  for (int d = 0; d < context.rank(data); ++d) {
    if (!cut[d] && context.out().results[0].shape[d] == context.shape(data)[d]) ShareDim(context, data, d, 0, d);
  }
  return OkStatus();
}

}  // namespace

Status FactorizeSlice(FactorizerContext& context) {
  const size_t data = context.operand("data");
  const Shape& in = context.shape(data);
  for (std::string_view name : {"starts", "ends", "axes", "steps"}) {
    const size_t i = context.operand(name);
    if (context.has(i) && context.value(i) == nullptr) return SliceAtBound(context, data);
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<Cut> cuts, ReadCuts(context, context.rank(data)));
  Shape shape = in;
  std::vector<bool> touched(in.size(), false);
  for (const Cut& cut : cuts) {
    shape[cut.dim] = CutSize(cut, in[cut.dim]);
    touched[cut.dim] = shape[cut.dim] != in[cut.dim] || (cut.step != 1 && in[cut.dim] > 1);
  }
  context.SetResult(0, std::move(shape));
  for (size_t d = 0; d < in.size(); ++d) {
    if (!touched[d]) {
      ShareDim(context, data, d, 0, d);
    } else {
      AddNote(context, StrCat("dimension ", d, " is sliced: its parts would not line up"));
    }
  }
  return OkStatus();
}

Status FactorizePad(FactorizerContext& context) {
  const size_t data = context.operand("data"), constant_value = context.operand("constant_value");
  const Shape& in = context.shape(data);
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, context.ints(context.operand("pads")));
  std::vector<int64_t> axes;
  if (const size_t given = context.operand("axes"); context.has(given)) {
    SBP_ASSIGN_OR_RETURN(axes, context.ints(given));
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
    SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axes[i], context.rank(data)));
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
      ShareDim(context, data, d, 0, d);
    } else {
      AddNote(context, StrCat("dimension ", d, " is padded: its parts would not line up"));
    }
  }
  // Reflected, repeated and zero borders are linear in the data; any other constant only jointly with the data.
  const bool has_constant = context.has(constant_value);
  const bool reads_constant = context.String("mode", "constant") == "constant" && has_constant;
  const Literal* constant = has_constant ? context.value(constant_value) : nullptr;
  const bool zero = constant != nullptr &&
                    std::all_of(constant->ints.begin(), constant->ints.end(), [](int64_t v) { return v == 0; }) &&
                    std::all_of(constant->floats.begin(), constant->floats.end(), [](double v) { return v == 0; });
  if (!reads_constant || zero) AddLinear(context, {data});
  if (reads_constant) AddLinear(context, {data, constant_value});
  AddMonotone(context, {data});
  return OkStatus();
}

}  // namespace sbp
