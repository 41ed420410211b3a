// Fourier transforms: the transformed axis stays whole, everything else splits.
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

Result<int64_t> KnownInt(FactorizerContext& context, size_t operand) {
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> values, context.ints(operand));
  if (values.size() == 1) return values[0];
  return context.Error(StrCat(OperandName(context, operand), " must be one number"));
}

}  // namespace

// @fourier: the axis is operand 2 (default -2); @fourier(axis): an argument. The last dimension holds 1 (real) or 2
// (complex) numbers.
Status FactorizeFourier(FactorizerContext& context) {
  const int rank = context.rank(0);
  if (rank < 2)
    return context.Error(StrCat("operand 0 must have 2 dimensions or more, but is ", ToString(context.type(0))));
  int64_t axis = context.int_arguments.empty() ? -2 : context.int_arguments[0];
  if (context.has(2)) {
    SBP_ASSIGN_OR_RETURN(axis, KnownInt(context, 2));
  }
  SBP_ASSIGN_OR_RETURN(const int dim, NormalizeAxis(context, axis, rank));
  if (dim == rank - 1) return context.Error("the last dimension holds real and imaginary parts and is no axis");
  const bool inverse = context.Int("inverse") != 0, onesided = context.Int("onesided") != 0;
  Shape shape = context.shape(0);
  int64_t length = inverse && onesided ? 2 * (shape[dim] - 1) : shape[dim];
  if (context.has(1)) {
    SBP_ASSIGN_OR_RETURN(length, KnownInt(context, 1));
  }
  shape[dim] = onesided && !inverse ? length / 2 + 1 : length;
  shape[rank - 1] = inverse && onesided ? 1 : 2;
  context.SetResult(0, shape);
  for (int i = 0; i + 1 < rank; ++i) {
    if (i == dim) continue;
    const FactorId f = context.map().AddFactor(LetterName(i), shape[i]);
    SetOperandDim(context, 0, i, {f});
    SetResultDim(context, 0, i, {f});
  }
  context.map().notes.push_back("each frequency needs the whole transformed axis");
  return OkStatus();
}

// @frames: signal [batch, length] or [batch, length, 1 or 2], step, window, frame length.
Status FactorizeFrames(FactorizerContext& context) {
  const Shape& signal = context.shape(0);
  if (signal.size() < 2 || signal.size() > 3) {
    return context.Error(StrCat("signal must have 2 or 3 dimensions, but is ", ToString(context.type(0))));
  }
  SBP_ASSIGN_OR_RETURN(const int64_t step, KnownInt(context, 1));
  int64_t frame = 0;
  if (context.has(3)) {
    SBP_ASSIGN_OR_RETURN(frame, KnownInt(context, 3));
  } else if (context.has(2)) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, 2, 1));
    frame = context.shape(2)[0];
  }
  if (step <= 0 || frame <= 0 || frame > signal[1]) {
    return context.Error(StrCat("frames of ", frame, " every ", step, " do not fit a signal of ", signal[1]));
  }
  const int64_t bins = context.Int("onesided", 1) != 0 ? frame / 2 + 1 : frame;
  const FactorId b = context.map().AddFactor("b", signal[0]);
  context.SetResult(0, {signal[0], (signal[1] - frame) / step + 1, bins, 2});
  SetOperandDim(context, 0, 0, {b});
  SetResultDim(context, 0, 0, {b});
  context.map().notes.push_back("frames overlap along the signal");
  return OkStatus();
}

}  // namespace sbp
