#include "kernel/window.h"

#include <algorithm>
#include <string>

#include "base/status.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// MaxPool may be asked for places alone.
const TensorView& MadeBy(const KernelCall& call) { return call.wants(0) ? call.outputs[0] : call.outputs.back(); }

// Strides, dilations and pads as attributes say.
Result<Window> Attributed(const KernelCall& call, const Shape& kernel) {
  const size_t n = kernel.size();
  const TensorView &in = call.inputs[0], &out = MadeBy(call);
  if (n > 3 || in.shape.size() != n + 2 || out.shape.size() != n + 2)
    return RunFailed("windows over one to three spatial dimensions only");
  Window window;
  const auto* strides = call.attributes->Ints("strides");
  const auto* dilations = call.attributes->Ints("dilations");
  const auto* pads = call.attributes->Ints("pads");
  if ((strides != nullptr && strides->size() != n) || (dilations != nullptr && dilations->size() != n) ||
      (pads != nullptr && pads->size() != 2 * n))
    return RunFailed("strides, dilations or pads do not fit the window's dimensions");
  const bool valid = call.attributes->String("auto_pad", "NOTSET") == "VALID";
  for (size_t d = 0; d < n; ++d) {
    WindowAxis& dim = window[3 - n + d];
    dim.kernel = kernel[d];
    if (strides != nullptr) dim.stride = (*strides)[d];
    if (dilations != nullptr) dim.dilation = (*dilations)[d];
    if (dim.stride < 1 || dim.dilation < 1) return RunFailed("a stride or dilation below 1");
    if (pads != nullptr && !valid) {
      dim.pad_low = (*pads)[d];
      dim.pad_high = (*pads)[d + n];
    }
  }
  return window;
}

bool IsSame(const std::string& auto_pad) { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

void Divide(int64_t total, bool upper, WindowAxis& dim) {
  dim.pad_low = upper ? total / 2 : total - total / 2;
  dim.pad_high = total - dim.pad_low;
}

}  // namespace

Range WindowAxis::OutputsOver(int64_t k) const {
  // 0 <= (out_begin + o) * stride + shift < in_whole
  const int64_t shift = k * dilation - pad_low;
  const int64_t begin = std::clamp<int64_t>(CeilDivide(-shift, stride) - out_begin, 0, out_held);
  return {begin, std::clamp<int64_t>(CeilDivide(in_whole - shift, stride) - out_begin, begin, out_held)};
}

Result<Window> WindowOf(const KernelCall& call, const Shape& kernel) {
  SBP_ASSIGN_OR_RETURN(Window window, Attributed(call, kernel));
  const TensorView &in = call.inputs[0], &out = MadeBy(call);
  const std::string auto_pad = call.attributes->String("auto_pad", "NOTSET");
  for (size_t d = 0; d < kernel.size(); ++d) {
    WindowAxis& dim = window[3 - kernel.size() + d];
    dim.in_whole = in.whole[d + 2];
    dim.in_begin = in.ranges[d + 2].begin;
    dim.in_held = in.shape[d + 2];
    dim.out_begin = out.ranges[d + 2].begin;
    dim.out_held = out.shape[d + 2];
    if (IsSame(auto_pad)) {
      const int64_t outputs = CeilDivide(dim.in_whole, dim.stride);
      const int64_t reach = (outputs - 1) * dim.stride + (dim.kernel - 1) * dim.dilation + 1;
      Divide(std::max<int64_t>(0, reach - dim.in_whole), auto_pad == "SAME_UPPER", dim);
    }
    for (const int64_t o : {int64_t{0}, dim.out_held - 1}) {
      if (out.elements() == 0) break;
      const Range inside = dim.Inside(o);
      if (inside.size() > 0 && (dim.Under(o, inside.begin) < 0 || dim.Under(o, inside.end - 1) >= dim.in_held))
        return Defect("the part does not hold all elements under its windows");
    }
  }
  return window;
}

Result<Window> TransposedWindowOf(const KernelCall& call, const Shape& kernel) {
  SBP_ASSIGN_OR_RETURN(Window window, Attributed(call, kernel));
  const TensorView &small = call.inputs[0], &large = call.outputs[0];
  const std::string auto_pad = call.attributes->String("auto_pad", "NOTSET");
  const auto* output_padding = call.attributes->Ints("output_padding");
  for (size_t d = 0; d < kernel.size(); ++d) {
    WindowAxis& dim = window[3 - kernel.size() + d];
    dim.in_whole = large.whole[d + 2];
    dim.in_begin = large.ranges[d + 2].begin;
    dim.in_held = large.shape[d + 2];
    dim.out_begin = small.ranges[d + 2].begin;
    dim.out_held = small.shape[d + 2];
    if (!IsSame(auto_pad) && call.attributes->Find("output_shape") == nullptr) continue;
    // The result's size is given, and pads follow from it.
    const int64_t extra = output_padding != nullptr && d < output_padding->size() ? (*output_padding)[d] : 0;
    const int64_t reach = dim.stride * (small.whole[d + 2] - 1) + extra + (dim.kernel - 1) * dim.dilation + 1;
    // A result larger than the windows reach keeps the bias at its end.
    Divide(std::max<int64_t>(0, reach - dim.in_whole), auto_pad == "SAME_UPPER", dim);
  }
  return window;
}

}  // namespace sbp
