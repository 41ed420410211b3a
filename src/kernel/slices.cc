#include "kernel/slices.h"

#include <algorithm>

#include "kernel/operands.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Axis i of a list that operand `axes` gives, or i itself.
Result<int64_t> ListedAxis(const std::vector<int64_t>& axes, bool given, size_t i, int rank) {
  if (given && i >= axes.size()) return RunFailed("axes are fewer than the values for them");
  return AxisIn(given ? axes[i] : static_cast<int64_t>(i), rank);
}

}  // namespace

Result<std::vector<SliceStep>> SliceSteps(const TensorView& in, const SliceValues& values, TensorView& out) {
  const std::vector<int64_t> steps = values.has_steps ? values.steps : std::vector<int64_t>(values.starts.size(), 1);
  if (values.ends.size() != values.starts.size() || steps.size() != values.starts.size())
    return RunFailed("starts, ends and steps differ in length");
  std::vector<SliceStep> read(in.shape.size());
  for (size_t i = 0; i < values.starts.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const int64_t d, ListedAxis(values.axes, values.has_axes, i, in.rank()));
    const int64_t size = in.whole[d], step = steps[i];
    if (step == 0 || step == INT64_MIN) return RunFailed("a step of Slice is 0, or out of range");
    const int64_t last = step > 0 ? size : size - 1, least = step > 0 ? 0 : -1;
    const int64_t start = std::clamp<int64_t>(values.starts[i] < 0 ? values.starts[i] + size : values.starts[i], 0,
                                              std::max<int64_t>(last, 0));
    const int64_t end = std::clamp<int64_t>(
        values.ends[i] < 0 ? std::max(values.ends[i], -size - 1) + size : values.ends[i], least, size);
    const int64_t length = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
    const int64_t count = size == 0 ? 0 : std::max<int64_t>(0, length);
    if (count != out.whole[d]) {
      if (out.shape[d] != out.whole[d] || count > out.shape[d])
        return RunFailed("the slice is not of the size that was planned");
      SetSize(out, d, count);
    }
    read[d] = {start, step};
  }
  return read;
}

Result<std::vector<int64_t>> PadsBefore(const TensorView& in, const PadValues& values, bool constant, TensorView& out) {
  const std::vector<int64_t>& pads = values.pads;
  std::vector<int64_t> before(in.shape.size(), 0);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    SBP_ASSIGN_OR_RETURN(const int64_t d, ListedAxis(values.axes, values.has_axes, i, in.rank()));
    before[d] = pads[i];
    const int64_t size = in.whole[d] + pads[i] + pads[i + pads.size() / 2];
    if (size < 0) return RunFailed("pads remove more elements than there are");
    if (size != out.whole[d]) {
      if (out.shape[d] != out.whole[d] || size > out.shape[d])
        return RunFailed("pads give another size than was planned");
      SetSize(out, d, size);
    }
    if (!constant && in.whole[d] == 0 && size > 0) return RunFailed("an empty dimension has no elements to pad with");
  }
  return before;
}

std::optional<HeldElements> FindHeld(const TensorView& in, const std::vector<SliceStep>& steps, const TensorView& out) {
  const std::vector<int64_t> from = RowMajorStrides(in.shape), to = RowMajorStrides(out.shape);
  HeldElements found{Shape(out.shape.size()), std::vector<int64_t>(out.shape.size())};
  for (size_t d = 0; d < out.shape.size(); ++d) {
    const auto [start, step] = steps[d];
    const Range held = in.ranges[d];
    // Local indices whose source lies in [held.begin, held.end).
    const int64_t first = start + out.ranges[d].begin * step;
    int64_t low = 0, high = out.shape[d];
    if (step > 0) {
      if (first < held.begin) low = (held.begin - first + step - 1) / step;
      high = std::min(high, held.end > first ? (held.end - first + step - 1) / step : 0);
    } else {
      if (first >= held.end) low = (first - held.end) / -step + 1;
      high = std::min(high, first >= held.begin ? (first - held.begin) / -step + 1 : 0);
    }
    found.shape[d] = std::max<int64_t>(0, high - low);
    found.source_strides[d] = from[d] * step;
    if (found.shape[d] == 0) return std::nullopt;
    found.source += (first + low * step - held.begin) * from[d];
    found.target += low * to[d];
  }
  return found;
}

}  // namespace sbp
