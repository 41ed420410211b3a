// Slice and Pad: the result's index i along a dimension reads the operand's index start + i * step; what lies outside
// of the whole is padding, and what the part does not hold is 0.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "kernel/cpu/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/kernels.h"

namespace sbp::cpu {
namespace {

struct Walk {
  int64_t start = 0, step = 1;
};

// Copies the elements that the operand's part holds; the rest of the result is left.
void CopyHeld(const TensorView& in, const std::vector<Walk>& walks, TensorView& out) {
  const std::vector<int64_t> from = ByteStrides(in), to = ByteStrides(out);
  Shape shape(out.shape.size());
  std::vector<int64_t> strides(out.shape.size());
  const std::byte* source = in.data;
  std::byte* target = out.data;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto [start, step] = walks[d];
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
    shape[d] = std::max<int64_t>(0, high - low);
    strides[d] = from[d] * step;
    if (shape[d] == 0) return;
    source += (first + low * step - held.begin) * from[d];
    target += low * to[d];
  }
  CopyStrided(shape, ElementBytes(in.dtype), source, strides, target, to);
}

// Axis i of a list that operand `axes` gives, or i itself.
Result<int64_t> ListedAxis(const std::vector<int64_t>& axes, bool given, size_t i, int rank) {
  if (given && i >= axes.size()) return RunFailed("axes are fewer than the values for them");
  return AxisIn(given ? axes[i] : static_cast<int64_t>(i), rank);
}

Status SliceBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  const std::vector<int64_t> starts = IntsOf(call.inputs[1]), ends = IntsOf(call.inputs[2]);
  const std::vector<int64_t> axes = call.has(3) ? IntsOf(call.inputs[3]) : std::vector<int64_t>();
  const std::vector<int64_t> steps = call.has(4) ? IntsOf(call.inputs[4]) : std::vector<int64_t>(starts.size(), 1);
  if (ends.size() != starts.size() || steps.size() != starts.size())
    return RunFailed("starts, ends and steps differ in length");
  std::vector<Walk> walks(in.shape.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const int64_t d, ListedAxis(axes, call.has(3), i, in.rank()));
    const int64_t size = in.whole[d], step = steps[i];
    if (step == 0 || step == INT64_MIN) return RunFailed("a step of Slice is 0, or out of range");
    const int64_t last = step > 0 ? size : size - 1, least = step > 0 ? 0 : -1;
    const int64_t start =
        std::clamp<int64_t>(starts[i] < 0 ? starts[i] + size : starts[i], 0, std::max<int64_t>(last, 0));
    const int64_t end = std::clamp<int64_t>(ends[i] < 0 ? std::max(ends[i], -size - 1) + size : ends[i], least, size);
    const int64_t length = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
    const int64_t count = size == 0 ? 0 : std::max<int64_t>(0, length);
    if (count != out.whole[d]) {
      if (out.shape[d] != out.whole[d] || count > out.shape[d])
        return RunFailed("the slice is not of the size that was planned");
      SetSize(out, d, count);
    }
    walks[d] = {start, step};
  }
  if (out.elements() == 0) return OkStatus();
  std::memset(out.data, 0, static_cast<size_t>(out.elements() * ElementBytes(out.dtype)));
  CopyHeld(in, walks, out);
  return OkStatus();
}

// The operand's index under index i of a dimension of n elements that is padded by other means than a constant.
int64_t PaddedIndex(const std::string& mode, int64_t i, int64_t n) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, n - 1);
  if (mode == "wrap") return (i % n + n) % n;
  // Reflected about the first and the last element, again and again.
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), j = (i % period + period) % period;
  return j < n ? j : period - j;
}

// Every element by the tables of its indices: padding of these kinds is rare and small.
void PadByIndex(const TensorView& in, const std::vector<int64_t>& before, const std::string& mode, TensorView& out) {
  std::vector<std::vector<int64_t>> offsets(out.shape.size());  // per dimension and local index, in bytes; -1: not held
  const std::vector<int64_t> from = ByteStrides(in);
  for (size_t d = 0; d < out.shape.size(); ++d) {
    for (int64_t i = 0; i < out.shape[d]; ++i) {
      const int64_t source = PaddedIndex(mode, out.ranges[d].begin + i - before[d], in.whole[d]);
      const bool held = source >= in.ranges[d].begin && source < in.ranges[d].end;
      offsets[d].push_back(held ? (source - in.ranges[d].begin) * from[d] : -1);
    }
  }
  const int64_t bytes = ElementBytes(in.dtype), n = out.elements();
  std::vector<int64_t> index(out.shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    int64_t offset = 0;
    bool held = true;
    for (size_t d = 0; d < index.size(); ++d) {
      held &= offsets[d][index[d]] >= 0;
      offset += offsets[d][index[d]];
    }
    if (held)
      std::memcpy(out.data + i * bytes, in.data + offset, static_cast<size_t>(bytes));
    else
      std::memset(out.data + i * bytes, 0, static_cast<size_t>(bytes));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < out.shape[d]) break;
      index[d] = 0;
    }
  }
}

// The constant wherever the result lies outside of the operand's whole; 0 where only this part does not hold it.
void PadConstant(const TensorView& in, const std::vector<Walk>& walks, const std::byte* constant, TensorView& out) {
  const int64_t bytes = ElementBytes(out.dtype);
  Fill(out.data, out.elements(), constant, bytes);
  Shape inside(out.shape.size());
  const std::vector<int64_t> strides = ByteStrides(out);
  std::byte* target = out.data;
  for (size_t d = 0; d < inside.size(); ++d) {
    const int64_t first = walks[d].start + out.ranges[d].begin;  // operand's index under the first element
    const int64_t low = std::clamp<int64_t>(-first, 0, out.shape[d]);
    inside[d] = std::clamp<int64_t>(in.whole[d] - first, low, out.shape[d]) - low;
    target += low * strides[d];
  }
  const std::byte zero[16] = {};
  CopyStrided(inside, bytes, zero, std::vector<int64_t>(inside.size(), 0), target, strides);
  CopyHeld(in, walks, out);
}

Status PadBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  const std::vector<int64_t> pads = IntsOf(call.inputs[1]);
  const std::vector<int64_t> axes = call.has(3) ? IntsOf(call.inputs[3]) : std::vector<int64_t>();
  const std::string mode = call.attributes->String("mode", "constant");
  std::vector<int64_t> before(in.shape.size(), 0);
  std::vector<Walk> walks(in.shape.size());
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    SBP_ASSIGN_OR_RETURN(const int64_t d, ListedAxis(axes, call.has(3), i, in.rank()));
    before[d] = pads[i];
    walks[d].start = -pads[i];
    const int64_t size = in.whole[d] + pads[i] + pads[i + pads.size() / 2];
    if (size < 0) return RunFailed("pads remove more elements than there are");
    if (size != out.whole[d]) {
      if (out.shape[d] != out.whole[d] || size > out.shape[d])
        return RunFailed("pads give another size than was planned");
      SetSize(out, d, size);
    }
    if (mode != "constant" && in.whole[d] == 0 && size > 0)
      return RunFailed("an empty dimension has no elements to pad with");
  }
  if (out.elements() == 0) return OkStatus();
  std::byte constant[16] = {};
  if (call.has(2) && call.inputs[2].elements() > 0)
    std::memcpy(constant, call.inputs[2].data, static_cast<size_t>(ElementBytes(out.dtype)));
  if (mode == "constant")
    PadConstant(in, walks, constant, out);
  else
    PadByIndex(in, before, mode, out);
  return OkStatus();
}

}  // namespace

Status Slice(KernelCall& call) { return OnBytes(call, SliceBytes); }
Status Pad(KernelCall& call) { return OnBytes(call, PadBytes); }

}  // namespace sbp::cpu
