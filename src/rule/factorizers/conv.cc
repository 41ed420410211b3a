// Convolutions: n (g c) spatial, (g o) c kernel -> n (g o) spatial. Batch, groups and output channels split; input
// channels reduce; spatial dimensions split with a halo.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "rule/factorizers/window.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Where an op of the family has its operands.
struct ConvOperands {
  int x = 0, w = 1, bias = -1;          // bias may lie beyond the operands that are given
  std::vector<int> per_output_channel;  // scales and zero points: one for all, or one for each output channel
  bool reduces = true;                  // sums over input channels are partial results (not where they are requantised)
};

Result<ConvOperands> FindOperands(const FactorizerContext& context, std::string_view form) {
  if (form == "conv") return ConvOperands{0, 1, 2, {}, true};
  if (form == "integer") return ConvOperands{0, 1, -1, {3}, true};
  if (form == "quantized") return ConvOperands{0, 3, 8, {4, 5}, false};
  return context.Error(StrCat("no form of convolution is called ", Quote(form)));
}

struct Channels {
  int64_t groups = 1, in = 1, out = 1;  // per group
  FactorId group = kNoFactor, input = kNoFactor, output = kNoFactor;
};

Status CheckChannels(const FactorizerContext& context, const ConvOperands& at, int64_t in, int64_t groups,
                     bool divides) {
  if (groups > 0 && divides) return OkStatus();
  return context.Error(StrCat("X ", ToString(context.type(at.x)), " and W ", ToString(context.type(at.w)),
                              " do not fit ", groups, " groups of ", in, " input channels"));
}

void NameChannels(FactorizerContext& context, const ConvOperands& at, Channels& channels) {
  channels.group = NewFactor(context, "g", channels.groups);
  channels.output = NewFactor(context, "o", channels.out);
  channels.input = NewFactor(context, "c", channels.in);
  if (!at.reduces) {
    AddNote(context, "input channels stay whole: the sum over them is rounded to the output's type");
  } else {
    ReduceFactor(context, ReduceKind::kSum, channels.input);
  }
}

Status CarryBias(FactorizerContext& context, const ConvOperands& at, const Channels& channels) {
  const int64_t out = channels.groups * channels.out;
  std::vector<int> operands = at.per_output_channel;
  if (at.bias >= 0) operands.push_back(at.bias);
  for (int i : operands) {
    if (i >= static_cast<int>(context.num_operands()) || !context.has(i)) continue;
    const Shape& shape = context.shape(i);
    const bool one_for_all = i != at.bias && (shape.empty() || shape == Shape{1});
    if (one_for_all && out != 1) continue;
    if (!shape.empty() && shape != Shape{out}) {
      return context.Error(StrCat("operand ", i, " ", ToString(context.type(i)), " must have one entry for each of ",
                                  out, " output channels"));
    }
    if (!shape.empty()) Carry(context.map().operands[i][0], {channels.group, channels.output});
  }
  if (at.bias < 0 || !at.reduces || at.bias >= static_cast<int>(context.num_operands()) || !context.has(at.bias))
    return OkStatus();
  context.map().addends.push_back(at.bias);
  AddMonotone(context, {at.bias});
  return OkStatus();
}

// Linear in the data and in the weights, each together with the bias; zero points make an op affine.
void AddConvLinear(FactorizerContext& context, const ConvOperands& at) {
  if (!at.reduces || !at.per_output_channel.empty()) return;
  const bool biased = at.bias < static_cast<int>(context.num_operands()) && context.has(at.bias);
  AddLinear(context, biased ? std::vector<int>{at.x, at.bias} : std::vector<int>{at.x});
  AddLinear(context, biased ? std::vector<int>{at.w, at.bias} : std::vector<int>{at.w});
}

std::vector<int64_t> KernelShape(const FactorizerContext& context, const Shape& weight) {
  std::vector<int64_t> kernel = context.Ints("kernel_shape");
  if (kernel.empty()) kernel.assign(weight.begin() + 2, weight.end());
  return kernel;
}

Status ExpectConvRanks(const FactorizerContext& context, const ConvOperands& at) {
  if (context.rank(at.x) < 2)
    return context.Error(StrCat("X ", ToString(context.type(at.x)), " must be [batch, channels, ...]"));
  if (context.rank(at.x) == context.rank(at.w)) return OkStatus();
  return context.Error(StrCat("X ", ToString(context.type(at.x)), " and W ", ToString(context.type(at.w)),
                              " must have equally many dimensions"));
}

// The output's size of a transposed convolution's dimension; pads follow from output_shape or auto_pad where given.
Status SetTransposedOutput(const FactorizerContext& context, WindowDim& dim, int64_t output_padding,
                           std::optional<int64_t> output_shape) {
  const std::string auto_pad = context.String("auto_pad", "NOTSET");
  const int64_t spread =
      SaturatingAdd(SaturatingMul(dim.stride, std::max<int64_t>(dim.in - 1, 0)), dim.reach() + output_padding);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (same || output_shape) {
    dim.out = output_shape.value_or(SaturatingMul(dim.in, dim.stride));
    const int64_t total = std::max<int64_t>(0, spread - dim.out);
    dim.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    dim.pad_end = total - dim.pad_begin;
    return OkStatus();
  }
  dim.out = spread - dim.pad_begin - dim.pad_end;
  if (dim.out >= 0 && dim.in > 0) return OkStatus();
  return context.Error(StrCat("a spatial dimension of ", dim.in, " with these pads leaves no output"));
}

// Windows of a transposed convolution.
Result<std::vector<WindowDim>> ReadTransposedWindow(const FactorizerContext& context, const Shape& x, const Shape& w) {
  const size_t dims = x.size() - 2;
  const std::vector<int64_t> kernel = KernelShape(context, w);
  if (kernel.size() != dims) return context.Error(StrCat("kernel_shape must have ", dims, " entries"));
  SBP_ASSIGN_OR_RETURN(const auto strides, WindowAttribute(context, "strides", dims, 1, 1));
  SBP_ASSIGN_OR_RETURN(const auto dilations, WindowAttribute(context, "dilations", dims, 1, 1));
  SBP_ASSIGN_OR_RETURN(const auto pads, WindowAttribute(context, "pads", 2 * dims, 0, 0));
  SBP_ASSIGN_OR_RETURN(const auto paddings, WindowAttribute(context, "output_padding", dims, 0, 0));
  std::vector<int64_t> shape = context.Ints("output_shape");
  if (shape.size() == x.size()) shape.erase(shape.begin(), shape.begin() + 2);  // some writers name all dimensions
  if (!shape.empty() && shape.size() != dims) return context.Error(StrCat("output_shape must have ", dims, " entries"));
  std::vector<WindowDim> window;
  for (size_t d = 0; d < dims; ++d) {
    if (kernel[d] <= 0 || SaturatingMul(kernel[d], dilations[d]) > kMaxWindowAttribute) {
      return context.Error(StrCat("kernel_shape [", Join(kernel, ","), "] is out of range"));
    }
    WindowDim dim = {x[d + 2], kernel[d], strides[d], dilations[d], pads[d], pads[d + dims], 0};
    const std::optional<int64_t> asked = shape.empty() ? std::nullopt : std::optional<int64_t>(shape[d]);
    SBP_RETURN_IF_ERROR(SetTransposedOutput(context, dim, paddings[d], asked));
    window.push_back(dim);
  }
  return window;
}

Result<Shape> ConvResult(const FactorizerContext& context, int64_t batch, const Channels& channels,
                         const std::vector<WindowDim>& window) {
  Shape shape = {batch, SaturatingMul(channels.groups, channels.out)};
  for (const WindowDim& dim : window) shape.push_back(dim.out);
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  return shape;
}

}  // namespace

Status FactorizeConv(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const ConvOperands at, FindOperands(context, "conv"));
  SBP_RETURN_IF_ERROR(ExpectConvRanks(context, at));
  const Shape &x = context.shape(at.x), &w = context.shape(at.w);
  Channels channels;
  channels.groups = context.Int("group", 1);
  channels.in = w[1];
  const bool divides =
      channels.groups > 0 && w[0] % channels.groups == 0 && SaturatingMul(w[1], channels.groups) == x[1];
  SBP_RETURN_IF_ERROR(CheckChannels(context, at, w[1], channels.groups, divides));
  channels.out = w[0] / channels.groups;
  SBP_ASSIGN_OR_RETURN(
      const std::vector<WindowDim> window,
      ReadWindow(context, Shape(x.begin() + 2, x.end()), KernelShape(context, w), WindowRounding::kFloor));
  SBP_ASSIGN_OR_RETURN(Shape shape, ConvResult(context, x[0], channels, window));
  context.SetResult(0, std::move(shape));
  FactorMap& map = context.map();
  ShareDim(context, at.x, 0, 0, 0);
  NameChannels(context, at, channels);
  Carry(map.operands[at.x][1], {channels.group, channels.input});
  Carry(map.operands[at.w][0], {channels.group, channels.output});
  Carry(map.operands[at.w][1], {channels.input});
  Carry(map.results[0][1], {channels.group, channels.output});
  for (size_t d = 0; d < window.size(); ++d)
    CarryWindow(context, window[d], map.operands[at.x][d + 2], map.results[0][d + 2]);
  AddConvLinear(context, at);
  return CarryBias(context, at, channels);
}

Status FactorizeConvTranspose(FactorizerContext& context) {
  const ConvOperands at{0, 1, 2, {}, true};
  SBP_RETURN_IF_ERROR(ExpectConvRanks(context, at));
  const Shape &x = context.shape(0), &w = context.shape(1);
  Channels channels;
  channels.groups = context.Int("group", 1);
  const bool divides = channels.groups > 0 && w[0] == x[1] && x[1] % channels.groups == 0;
  SBP_RETURN_IF_ERROR(CheckChannels(context, at, w[0], channels.groups, divides));
  channels.in = x[1] / channels.groups;
  channels.out = w[1];
  SBP_ASSIGN_OR_RETURN(const std::vector<WindowDim> window, ReadTransposedWindow(context, x, w));
  SBP_ASSIGN_OR_RETURN(Shape shape, ConvResult(context, x[0], channels, window));
  context.SetResult(0, std::move(shape));
  FactorMap& map = context.map();
  ShareDim(context, 0, 0, 0, 0);
  NameChannels(context, at, channels);
  Carry(map.operands[0][1], {channels.group, channels.input});
  Carry(map.operands[1][0], {channels.group, channels.input});
  Carry(map.operands[1][1], {channels.output});
  Carry(map.results[0][1], {channels.group, channels.output});
  for (size_t d = 0; d < window.size(); ++d) {
    CarryTransposedWindow(context, window[d], map.operands[0][d + 2], map.results[0][d + 2]);
  }
  AddConvLinear(context, at);
  return CarryBias(context, at, channels);
}

Status FactorizeDeformConv(FactorizerContext& context) {
  constexpr int kX = 0, kW = 1, kOffset = 2, kMask = 4;
  const ConvOperands at{kX, kW, 3, {}, true};
  SBP_RETURN_IF_ERROR(ExpectConvRanks(context, at));
  SBP_RETURN_IF_ERROR(ExpectRank(context, kOffset, "offset", context.rank(kX)));
  const Shape &x = context.shape(kX), &w = context.shape(kW), &offset = context.shape(kOffset);
  Channels channels;
  channels.groups = context.Int("group", 1);
  channels.in = w[1];
  const bool divides =
      channels.groups > 0 && w[0] % channels.groups == 0 && SaturatingMul(w[1], channels.groups) == x[1];
  SBP_RETURN_IF_ERROR(CheckChannels(context, at, w[1], channels.groups, divides));
  channels.out = w[0] / channels.groups;
  SBP_ASSIGN_OR_RETURN(
      const std::vector<WindowDim> window,
      ReadWindow(context, Shape(x.begin() + 2, x.end()), KernelShape(context, w), WindowRounding::kFloor));
  SBP_ASSIGN_OR_RETURN(Shape shape, ConvResult(context, x[0], channels, window));
  if (offset[0] != x[0] || !std::equal(offset.begin() + 2, offset.end(), shape.begin() + 2, shape.end())) {
    return context.Error(
        StrCat("offset ", ToString(context.type(kOffset)), " must have the batch and the spatial sizes of the result"));
  }
  context.SetResult(0, shape);
  FactorMap& map = context.map();
  const bool masked = context.num_operands() > kMask && context.has(kMask);
  const auto share_with_offsets = [&](size_t d) {
    CopyDim(map.results[0][d], map.operands[kOffset][d]);
    if (masked && context.rank(kMask) == context.rank(kX)) CopyDim(map.results[0][d], map.operands[kMask][d]);
  };
  ShareDim(context, kX, 0, 0, 0);
  share_with_offsets(0);
  NameChannels(context, at, channels);
  // Groups of offsets are cut across the channels too: then only output channels may be split.
  if (context.Int("offset_group", 1) > 1) {
    for (FactorId f : {channels.group, channels.input}) {
      if (f != kNoFactor) map.factors[f].whole = true;
    }
    AddNote(context, "input channels stay whole: groups of offsets run across them");
  }
  Carry(map.operands[kX][1], {channels.group, channels.input});
  Carry(map.operands[kW][0], {channels.group, channels.output});
  Carry(map.operands[kW][1], {channels.input});
  Carry(map.results[0][1], {channels.group, channels.output});
  for (size_t d = 2; d < shape.size(); ++d) {  // any input element may be read: the input is whole, the output is not
    Carry(map.results[0][d], {NewAwareFactor(context, shape[d])});
    share_with_offsets(d);
  }
  AddConvLinear(context, at);
  if (masked) AddLinear(context, {kMask, at.bias});
  return CarryBias(context, at, channels);
}

}  // namespace sbp
