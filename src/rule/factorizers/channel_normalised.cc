// Normalisations with a scale per channel: by groups of channels, by channel, by batch.
#include <cstdint>

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

// Arguments: the number of groups (0: one per channel), and whether channels come last (default: second).
Result<Layout> ReadLayout(FactorizerContext& context) {
  Layout layout;
  if (context.rank(0) < 2)
    return context.Error(StrCat("operand 0 must have batch and channels, but is ", ToString(context.type(0))));
  const bool last = context.int_arguments.size() > 1 && context.int_arguments[1] != 0;
  layout.channel = last ? context.rank(0) - 1 : 1;
  layout.channels = context.shape(0)[layout.channel];
  layout.groups = context.int_arguments[0] == 0 ? layout.channels : context.int_arguments[0];
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
  if (operand >= context.num_operands() || !context.has(operand)) return OkStatus();
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
Result<ChannelFactors> PutChannels(FactorizerContext& context, const Layout& layout) {
  ChannelFactors f;
  f.batch = context.map().AddFactor("n", context.shape(0)[0]);
  f.group = context.map().AddFactor(layout.groups == layout.channels ? "c" : "g", layout.groups);
  f.inner = -1;
  if (layout.groups != layout.channels) {
    f.inner = context.map().AddFactor("c", layout.channels / layout.groups);
    context.map().factors[f.inner].whole = true;
  }
  SetOperandDim(context, 0, 0, {f.batch});
  SetOperandDim(context, 0, layout.channel, {f.group, f.inner});
  for (size_t r = 0; r < context.num_results(); ++r) {
    context.SetResult(r, context.shape(0));
    SetResultDim(context, r, 0, {f.batch});
    SetResultDim(context, r, layout.channel, {f.group, f.inner});
  }
  return f;
}

}  // namespace

// @channel_normalised(groups[, channels_last]): x, scale, shift -> y.
Status FactorizeChannelNormalised(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const Layout layout, ReadLayout(context));
  SBP_ASSIGN_OR_RETURN(const ChannelFactors factors, PutChannels(context, layout));
  SBP_RETURN_IF_ERROR(PutParameter(context, 1, layout, factors));
  SBP_RETURN_IF_ERROR(PutParameter(context, 2, layout, factors));
  context.map().notes.push_back("mean and deviation run over a whole group of channels and all positions");
  return OkStatus();
}

// @skip_channel_normalised: x, scale, shift, skip (batch, 1, 1, channels or batch, channels too), bias -> y, sum.
Status FactorizeSkipChannelNormalised(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const Layout layout, ReadLayout(context));
  SBP_ASSIGN_OR_RETURN(const ChannelFactors factors, PutChannels(context, layout));
  for (size_t i : {1, 2, 4}) SBP_RETURN_IF_ERROR(PutParameter(context, i, layout, factors));
  const int skip_rank = context.rank(3);
  if (skip_rank != context.rank(0) && skip_rank != 2) {
    return context.Error(StrCat(OperandName(context, 3), " must be like operand 0 or have batch and channels, but is ",
                                ToString(context.type(3))));
  }
  SetOperandDim(context, 3, 0, {factors.batch});
  SetOperandDim(context, 3, skip_rank == 2 ? 1 : layout.channel, {factors.group, factors.inner});
  context.map().notes.push_back("mean and deviation run over a whole group of channels and all positions");
  return OkStatus();
}

// @batch_normalised: x, then four vectors of a value per channel -> y, running mean, running variance.
Status FactorizeBatchNormalised(FactorizerContext& context) {
  const bool training = context.Int("training_mode") != 0;
  const int rank = context.rank(0);
  const int64_t channels = rank > 1 ? context.shape(0)[1] : 1;
  const FactorId c = rank > 1 ? context.map().AddFactor("c", channels) : -1;
  for (size_t i = 1; i < context.num_operands(); ++i) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, i, 1));
    SBP_RETURN_IF_ERROR(ExpectDim(context, i, 0, channels, "channels"));
    if (c >= 0) SetOperandDim(context, i, 0, {c});
  }
  context.SetResult(0, context.shape(0));
  for (size_t r = 1; r < context.num_results(); ++r) {
    context.SetResult(r, {channels});
    if (c >= 0) SetResultDim(context, r, 0, {c});
  }
  for (int dim = 0; dim < rank; ++dim) {
    const FactorId f =
        dim == 1 ? c : context.map().AddFactor(dim == 0 ? "n" : LetterName(dim + 1), context.shape(0)[dim]);
    if (dim != 1) context.map().factors[f].whole = training;
    SetOperandDim(context, 0, dim, {f});
    SetResultDim(context, 0, dim, {f});
  }
  if (training) context.map().notes.push_back("statistics of the batch run over all samples and positions");
  return OkStatus();
}

}  // namespace sbp
