// Normalisations with a scale per channel: by groups of channels, by channel, by batch.
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"

namespace sbp {
namespace {

struct Layout {
  int channel = 1;  // the dimension of x that holds channels
  int64_t groups = 0;
  int64_t channels = 0;
};

// Of x: `groups` 0 is one per channel; channels come second, or last.
Result<Layout> ReadLayout(FactorizerContext& context, size_t x, int64_t groups, bool last) {
  Layout layout;
  if (context.rank(x) < 2)
    return context.Error(StrCat("operand 0 must have batch and channels, but is ", ToString(context.type(x))));
  layout.channel = last ? context.rank(x) - 1 : 1;
  layout.channels = context.shape(x)[layout.channel];
  layout.groups = groups == 0 ? layout.channels : groups;
  if (layout.groups <= 0 || layout.channels % layout.groups != 0) {
    return context.Error(StrCat(layout.channels, " channels do not divide into ", layout.groups, " groups"));
  }
  return layout;
}

struct ChannelFactors {
  FactorId batch, group, inner;
};

// A scale or shift has an entry per channel, or (group normalisation of opset 18) one per group.
Status PutParameter(FactorizerContext& context, size_t operand, const Layout& layout, const ChannelFactors& factors) {
  if (!context.has(operand)) return OkStatus();
  SBP_RETURN_IF_ERROR(ExpectRank(context, operand, 1));
  if (context.shape(operand)[0] == layout.groups) {
    SetDim(context.map().operands[operand], 0, {factors.group});
    return OkStatus();
  }
  SBP_RETURN_IF_ERROR(ExpectDim(context, operand, 0, layout.channels, "channels"));
  SetDim(context.map().operands[operand], 0, {factors.group, factors.inner});
  return OkStatus();
}

// Splits x by batch and by whole groups; every result is shaped like x.
Result<ChannelFactors> PutChannels(FactorizerContext& context, size_t x, const Layout& layout) {
  ChannelFactors f;
  f.batch = context.map().AddFactor("n", context.shape(x)[0]);
  f.group = context.map().AddFactor(layout.groups == layout.channels ? "c" : "g", layout.groups);
  f.inner = -1;
  if (layout.groups != layout.channels) {
    f.inner = context.map().AddFactor("c", layout.channels / layout.groups);
    context.map().factors[f.inner].whole = true;
  }
  SetOperandDim(context, x, 0, {f.batch});
  SetOperandDim(context, x, layout.channel, {f.group, f.inner});
  for (size_t r = 0; r < context.num_results(); ++r) {
    context.SetResult(r, context.shape(x));
    SetResultDim(context, r, 0, {f.batch});
    SetResultDim(context, r, layout.channel, {f.group, f.inner});
  }
  return f;
}

}  // namespace

// @channel_normalised(x, scale, shift, groups[, channels_last])
Status FactorizeChannelNormalised(FactorizerContext& context) {
  const std::vector<int64_t>& arguments = context.int_arguments;
  const size_t x = arguments.at(0), scale = arguments.at(1), shift = arguments.at(2);
  SBP_ASSIGN_OR_RETURN(const Layout layout,
                       ReadLayout(context, x, arguments.at(3), arguments.size() > 4 && arguments[4] != 0));
  SBP_ASSIGN_OR_RETURN(const ChannelFactors factors, PutChannels(context, x, layout));
  SBP_RETURN_IF_ERROR(PutParameter(context, scale, layout, factors));
  SBP_RETURN_IF_ERROR(PutParameter(context, shift, layout, factors));
  context.map().notes.push_back("mean and deviation run over a whole group of channels and all positions");
  return OkStatus();
}

// @skip_channel_normalised: x, scale, shift, skip (batch, 1, 1, channels or batch, channels too), bias -> y, sum.
Status FactorizeSkipChannelNormalised(FactorizerContext& context) {
  const size_t x = context.operand("X"), skip = context.operand("skip");
  SBP_ASSIGN_OR_RETURN(const Layout layout,
                       ReadLayout(context, x, context.Int("groups"), context.Int("channels_last") != 0));
  SBP_ASSIGN_OR_RETURN(const ChannelFactors factors, PutChannels(context, x, layout));
  for (const char* name : {"gamma", "beta", "bias"}) {
    SBP_RETURN_IF_ERROR(PutParameter(context, context.operand(name), layout, factors));
  }
  const int skip_rank = context.rank(skip);
  if (skip_rank != context.rank(x) && skip_rank != 2) {
    return context.Error(StrCat(OperandName(context, skip),
                                " must be like operand 0 or have batch and channels, but is ",
                                ToString(context.type(skip))));
  }
  SetOperandDim(context, skip, 0, {factors.batch});
  SetOperandDim(context, skip, skip_rank == 2 ? 1 : layout.channel, {factors.group, factors.inner});
  context.map().notes.push_back("mean and deviation run over a whole group of channels and all positions");
  return OkStatus();
}

// @batch_normalised: x, then four vectors of a value per channel -> y, running mean, running variance.
Status FactorizeBatchNormalised(FactorizerContext& context) {
  const size_t x = context.operand("X");
  const bool training = context.Int("training_mode") != 0;
  const int rank = context.rank(x);
  const int64_t channels = rank > 1 ? context.shape(x)[1] : 1;
  const FactorId c = rank > 1 ? context.map().AddFactor("c", channels) : -1;
  for (const char* name : {"scale", "B", "input_mean", "input_var"}) {
    const size_t vector = context.operand(name);
    SBP_RETURN_IF_ERROR(ExpectRank(context, vector, 1));
    SBP_RETURN_IF_ERROR(ExpectDim(context, vector, 0, channels, "channels"));
    if (c >= 0) SetOperandDim(context, vector, 0, {c});
  }
  context.SetResult(0, context.shape(x));
  for (size_t r = 1; r < context.num_results(); ++r) {
    context.SetResult(r, {channels});
    if (c >= 0) SetResultDim(context, r, 0, {c});
  }
  for (int dim = 0; dim < rank; ++dim) {
    const FactorId f =
        dim == 1 ? c : context.map().AddFactor(dim == 0 ? "n" : LetterName(dim + 1), context.shape(x)[dim]);
    if (dim != 1) context.map().factors[f].whole = training;
    SetOperandDim(context, x, dim, {f});
    SetResultDim(context, 0, dim, {f});
  }
  if (training) context.map().notes.push_back("statistics of the batch run over all samples and positions");
  return OkStatus();
}

}  // namespace sbp
