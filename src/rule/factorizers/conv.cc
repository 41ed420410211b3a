// Convolutions: n (g c) spatial, (g o) c kernel -> n (g o) spatial. Batch, groups and output channels split; input
// channels reduce; spatial dimensions split with a halo.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
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

// Where the op has its operands; the bias may be absent.
struct ConvOperands {
  size_t x, w, bias;
};

ConvOperands FindOperands(const FactorizerContext& context) {
  return {context.operand("X"), context.operand("W"), context.operand("B")};
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

void NameChannels(FactorizerContext& context, Channels& channels) {
  channels.group = NewFactor(context, "g", channels.groups);
  channels.output = NewFactor(context, "o", channels.out);
  channels.input = NewFactor(context, "c", channels.in);
  ReduceFactor(context, ReduceKind::kSum, channels.input);
}

// One entry for each output channel, added after the sum over input channels.
Status CarryBias(FactorizerContext& context, const ConvOperands& at, const Channels& channels) {
  if (!context.has(at.bias)) return OkStatus();
  const int64_t out = channels.groups * channels.out;
  const Shape& shape = context.shape(at.bias);
  if (!shape.empty() && shape != Shape{out}) {
    return context.Error(StrCat("operand ", at.bias, " ", ToString(context.type(at.bias)),
                                " must have one entry for each of ", out, " output channels"));
  }
  if (!shape.empty()) Carry(context.map().operands[at.bias][0], {channels.group, channels.output});
  context.map().addends.push_back(static_cast<int>(at.bias));
  AddMonotone(context, {at.bias});
  return OkStatus();
}

// Linear in the data and in the weights, each together with the bias.
void AddConvLinear(FactorizerContext& context, const ConvOperands& at) {
  AddLinear(context, {at.x, at.bias});
  AddLinear(context, {at.w, at.bias});
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
  const ConvOperands at = FindOperands(context);
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
  map.convolution = true;
  ShareDim(context, at.x, 0, 0, 0);
  NameChannels(context, channels);
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
  const ConvOperands at = FindOperands(context);
  SBP_RETURN_IF_ERROR(ExpectConvRanks(context, at));
  const Shape &x = context.shape(at.x), &w = context.shape(at.w);
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
  map.convolution = true;
  ShareDim(context, at.x, 0, 0, 0);
  NameChannels(context, channels);
  Carry(map.operands[at.x][1], {channels.group, channels.input});
  Carry(map.operands[at.w][0], {channels.group, channels.input});
  Carry(map.operands[at.w][1], {channels.output});
  Carry(map.results[0][1], {channels.group, channels.output});
  for (size_t d = 0; d < window.size(); ++d) {
    CarryTransposedWindow(context, window[d], map.operands[at.x][d + 2], map.results[0][d + 2]);
  }
  AddConvLinear(context, at);
  return CarryBias(context, at, channels);
}

Status FactorizeDeformConv(FactorizerContext& context) {
  const ConvOperands at = FindOperands(context);
  const size_t at_offset = context.operand("offset"), mask = context.operand("mask");
  SBP_RETURN_IF_ERROR(ExpectConvRanks(context, at));
  SBP_RETURN_IF_ERROR(ExpectRank(context, at_offset, "offset", context.rank(at.x)));
  const Shape &x = context.shape(at.x), &w = context.shape(at.w), &offset = context.shape(at_offset);
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
    return context.Error(StrCat("offset ", ToString(context.type(at_offset)),
                                " must have the batch and the spatial sizes of the result"));
  }
  context.SetResult(0, shape);
  FactorMap& map = context.map();
  const bool masked = context.has(mask);
  const auto share_with_offsets = [&](size_t d) {
    CopyDim(map.results[0][d], map.operands[at_offset][d]);
    if (masked && context.rank(mask) == context.rank(at.x)) CopyDim(map.results[0][d], map.operands[mask][d]);
  };
  ShareDim(context, at.x, 0, 0, 0);
  share_with_offsets(0);
  NameChannels(context, channels);
  // Groups of offsets are cut across the channels too: then only output channels may be split.
  if (context.Int("offset_group", 1) > 1) {
    for (FactorId f : {channels.group, channels.input}) {
      if (f != kNoFactor) map.factors[f].whole = true;
    }
    AddNote(context, "input channels stay whole: groups of offsets run across them");
  }
  Carry(map.operands[at.x][1], {channels.group, channels.input});
  Carry(map.operands[at.w][0], {channels.group, channels.output});
  Carry(map.operands[at.w][1], {channels.input});
  Carry(map.results[0][1], {channels.group, channels.output});
  for (size_t d = 2; d < shape.size(); ++d) {  // any input element may be read: the input is whole, the output is not
    Carry(map.results[0][d], {NewAwareFactor(context, shape[d])});
    share_with_offsets(d);
  }
  AddConvLinear(context, at);
  if (masked) AddLinear(context, {mask, at.bias});
  return CarryBias(context, at, channels);
}

}  // namespace sbp
