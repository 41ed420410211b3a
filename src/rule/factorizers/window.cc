#include "rule/factorizers/window.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"

namespace sbp {
namespace {

void FitPads(WindowDim& dim, const std::string& auto_pad) {
  dim.pad_begin = dim.pad_end = 0;
  if (auto_pad == "VALID") return;
  dim.out = CeilDiv(dim.in, dim.stride);
  const int64_t needed = SaturatingMul(std::max<int64_t>(dim.out - 1, 0), dim.stride);
  const int64_t total = std::max<int64_t>(0, SaturatingAdd(needed, dim.reach()) - dim.in);
  dim.pad_begin = auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
  dim.pad_end = total - dim.pad_begin;
}

Status SetOutput(const FactorizerContext& context, WindowDim& dim, WindowRounding rounding) {
  const int64_t padded = SaturatingAdd(dim.in, dim.pad_begin + dim.pad_end);
  const int64_t room = padded - dim.reach();
  if (room < 0) {
    return context.Error(StrCat("a window that reaches over ", dim.reach(), " elements does not fit a dimension of ",
                                dim.in, " padded by ", dim.pad_begin, " and ", dim.pad_end));
  }
  dim.out = (rounding == WindowRounding::kCeil ? CeilDiv(room, dim.stride) : room / dim.stride) + 1;
  // A window must begin within the input or the padding before it.
  if (rounding == WindowRounding::kCeil &&
      SaturatingMul(dim.out - 1, dim.stride) >= SaturatingAdd(dim.in, dim.pad_begin)) {
    --dim.out;
  }
  return OkStatus();
}

// A split of `units` parts; `block` elements of the longer side belong to one unit.
FactorId CarryUnits(FactorizerContext& context, int64_t units, int64_t block, DimFactors& shorter, DimFactors& longer,
                    Factor::Halo halo) {
  const FactorId f = NewFactor(context, units);
  if (f == kNoFactor) return f;
  Carry(shorter, {f});
  Carry(longer, {f});
  const FactorId inner = NewFactor(context, block);
  Carry(longer, {inner});
  if (inner != kNoFactor) context.map().factors[inner].whole = true;
  if (halo.low > 0 || halo.high > 0) context.map().factors[f].halo = halo;
  return f;
}

}  // namespace

Result<std::vector<int64_t>> WindowAttribute(const FactorizerContext& context, std::string_view name, size_t count,
                                             int64_t fallback, int64_t low) {
  std::vector<int64_t> values = context.Ints(name);
  if (values.empty()) values.assign(count, fallback);
  const bool in_range =
      std::all_of(values.begin(), values.end(), [low](int64_t v) { return v >= low && v <= kMaxWindowAttribute; });
  if (values.size() != count || !in_range) {
    return context.Error(
        StrCat(name, " must be ", count, " integers of at least ", low, ", but is [", Join(values, ","), "]"));
  }
  return values;
}

Result<std::vector<WindowDim>> ReadWindow(const FactorizerContext& context, const std::vector<int64_t>& in,
                                          const std::vector<int64_t>& kernel, WindowRounding rounding) {
  const size_t dims = in.size();
  const bool kernel_fits =
      std::all_of(kernel.begin(), kernel.end(), [](int64_t k) { return k > 0 && k <= kMaxWindowAttribute; });
  if (kernel.size() != dims || !kernel_fits) {
    return context.Error(StrCat("kernel_shape [", Join(kernel, ","), "] must have ", dims, " positive entries"));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, WindowAttribute(context, "strides", dims, 1, 1));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations, WindowAttribute(context, "dilations", dims, 1, 1));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                       WindowAttribute(context, "pads", 2 * dims, 0, -kMaxWindowAttribute));
  const std::string auto_pad = context.String("auto_pad", "NOTSET");
  std::vector<WindowDim> window(dims);
  for (size_t d = 0; d < dims; ++d) {
    WindowDim& dim = window[d];
    if (in[d] < 0) return context.Error(StrCat("spatial dimension ", d, " is negative"));
    dim = {in[d], kernel[d], strides[d], dilations[d], pads[d], pads[d + dims], 0};
    if (SaturatingMul(dim.kernel, dim.dilation) > kMaxWindowAttribute * 8)
      return context.Error("the window is too large");
    if (auto_pad != "NOTSET" && !auto_pad.empty()) FitPads(dim, auto_pad);
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") continue;  // the output's size is given
    SBP_RETURN_IF_ERROR(SetOutput(context, dim, rounding));
  }
  return window;
}

FactorId CarryWindow(FactorizerContext& context, const WindowDim& dim, DimFactors& in, DimFactors& out) {
  if (dim.out == 0 || dim.in % dim.out != 0 || dim.in / dim.out != dim.stride) {
    AddNote(context, StrCat("a spatial dimension of ", dim.in, " that becomes ", dim.out, " with stride ", dim.stride,
                            " stays whole: its parts would not line up"));
    return kNoFactor;
  }
  // Output element i reads from i * stride - pad_begin on.
  const Factor::Halo halo = {std::max<int64_t>(0, dim.pad_begin),
                             std::max<int64_t>(0, dim.reach() - dim.stride - dim.pad_begin), dim.stride};
  return CarryUnits(context, dim.out, dim.stride, out, in, halo);
}

FactorId CarryTransposedWindow(FactorizerContext& context, const WindowDim& dim, DimFactors& in, DimFactors& out) {
  if (dim.in == 0 || dim.out % dim.in != 0 || dim.out / dim.in != dim.stride) {
    AddNote(context, StrCat("a spatial dimension of ", dim.in, " that becomes ", dim.out, " with stride ", dim.stride,
                            " stays whole: its parts would not line up"));
    return kNoFactor;
  }
  // Input element i writes from i * stride - pad_begin on, over reach() elements.
  const int64_t low = (dim.reach() - 1 - dim.pad_begin) / dim.stride;
  const int64_t high = (dim.stride - 1 + dim.pad_begin) / dim.stride;
  return CarryUnits(context, dim.in, dim.stride, in, out, {std::max<int64_t>(0, low), std::max<int64_t>(0, high), 1});
}

}  // namespace sbp
