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

// @fourier: the axis is an operand (default -2); @fourier(axis): an argument. The last dimension holds 1 (real) or 2
// (complex) numbers.
Status FactorizeFourier(FactorizerContext& context) {
  const size_t input = context.operand("input");
  const size_t dft_length = context.operand("dft_length"), axis_operand = context.operand("axis");
  const int rank = context.rank(input);
  if (rank < 2)
    return context.Error(StrCat("input must have 2 dimensions or more, but is ", ToString(context.type(input))));
  int64_t axis = context.int_arguments.empty() ? -2 : context.int_arguments[0];
  if (context.has(axis_operand)) {
    SBP_ASSIGN_OR_RETURN(axis, KnownInt(context, axis_operand));
  }
  SBP_ASSIGN_OR_RETURN(const int dim, NormalizeAxis(context, axis, rank));
  if (dim == rank - 1) return context.Error("the last dimension holds real and imaginary parts and is no axis");
  const bool inverse = context.Int("inverse") != 0, onesided = context.Int("onesided") != 0;
  Shape shape = context.shape(input);
  int64_t length = inverse && onesided ? 2 * (shape[dim] - 1) : shape[dim];
  if (context.has(dft_length)) {
    SBP_ASSIGN_OR_RETURN(length, KnownInt(context, dft_length));
  }
  shape[dim] = onesided && !inverse ? length / 2 + 1 : length;
  shape[rank - 1] = inverse && onesided ? 1 : 2;
  context.SetResult(0, shape);
  for (int i = 0; i + 1 < rank; ++i) {
    if (i == dim) continue;
    const FactorId f = context.map().AddFactor(LetterName(i), shape[i]);
    SetOperandDim(context, input, i, {f});
    SetResultDim(context, 0, i, {f});
  }
  context.map().notes.push_back("each frequency needs the whole transformed axis");
  return OkStatus();
}

// @frames: signal [batch, length] or [batch, length, 1 or 2], step, window, frame length.
Status FactorizeFrames(FactorizerContext& context) {
  const size_t signal = context.operand("signal"), window = context.operand("window");
  const size_t frame_length = context.operand("frame_length");
  const Shape& in = context.shape(signal);
  if (in.size() < 2 || in.size() > 3) {
    return context.Error(StrCat("signal must have 2 or 3 dimensions, but is ", ToString(context.type(signal))));
  }
  SBP_ASSIGN_OR_RETURN(const int64_t step, KnownInt(context, context.operand("frame_step")));
  int64_t frame = 0;
  if (context.has(frame_length)) {
    SBP_ASSIGN_OR_RETURN(frame, KnownInt(context, frame_length));
  } else if (context.has(window)) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, window, 1));
    frame = context.shape(window)[0];
  }
  if (step <= 0 || frame <= 0 || frame > in[1]) {
    return context.Error(StrCat("frames of ", frame, " every ", step, " do not fit a signal of ", in[1]));
  }
  const int64_t bins = context.Int("onesided", 1) != 0 ? frame / 2 + 1 : frame;
  const FactorId b = context.map().AddFactor("b", in[0]);
  context.SetResult(0, {in[0], (in[1] - frame) / step + 1, bins, 2});
  SetOperandDim(context, signal, 0, {b});
  SetResultDim(context, 0, 0, {b});
  context.map().notes.push_back("frames overlap along the signal");
  return OkStatus();
}

}  // namespace sbp
