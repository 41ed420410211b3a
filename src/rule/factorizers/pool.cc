// Pools: batch and channels are shared; spatial dimensions split with a halo, or reduce where the pool is global.
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
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

Status ExpectImage(const FactorizerContext& context, size_t operand) {
  if (context.rank(operand) >= 2) return OkStatus();
  return context.Error(StrCat("X ", ToString(context.type(operand)), " must be [batch, channels, ...]"));
}

}  // namespace

// @pool("average" | "max" | "lp" | "quantized")
Status FactorizePool(FactorizerContext& context) {
  const size_t image = context.operand("X");
  SBP_RETURN_IF_ERROR(ExpectImage(context, image));
  const std::string& kind = context.name_arguments.at(0);
  const Shape& x = context.shape(image);
  const WindowRounding rounding = context.Int("ceil_mode") != 0 ? WindowRounding::kCeil : WindowRounding::kFloor;
  SBP_ASSIGN_OR_RETURN(const std::vector<WindowDim> window,
                       ReadWindow(context, Shape(x.begin() + 2, x.end()), context.Ints("kernel_shape"), rounding));
  Shape shape = {x[0], x[1]};
  for (const WindowDim& dim : window) shape.push_back(dim.out);
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  FactorMap& map = context.map();
  for (size_t r = 0; r < context.num_results(); ++r) context.SetResult(r, shape);
  ShareDim(context, image, 0, 0, 0);
  ShareDim(context, image, 1, 0, 1);
  for (size_t d = 0; d < window.size(); ++d) {
    const FactorId f = CarryWindow(context, window[d], map.operands[image][d + 2], map.results[0][d + 2]);
    if (kind != "quantized" || f == kNoFactor || !map.factors[f].halo) continue;
    map.factors[f].whole = true;
    AddNote(context,
            "windows that overlap or reach into padding are not split: neighbours' values would have to be "
            "scaled first");
  }
  // The second result of MaxPool counts positions in the whole input.
  if (Wants(context, 1)) {
    map.results[1] = map.results[0];
    for (Factor& factor : map.factors) factor.aware = true;
  }
  if (kind == "average" && IsFloat(context.type(image).dtype)) AddLinear(context, {image});
  if (kind == "max" && !Wants(context, 1)) AddPartialSignature(context, ReduceKind::kMax, {image});
  return OkStatus();
}

// @global_pool("average" | "max" | "lp" | "quantized"); an attribute channels_last may put the channels last.
Status FactorizeGlobalPool(FactorizerContext& context) {
  const size_t image = context.operand("X");
  SBP_RETURN_IF_ERROR(ExpectImage(context, image));
  const std::string& kind = context.name_arguments.at(0);
  const Shape& x = context.shape(image);
  const size_t channels = context.Int("channels_last") != 0 ? x.size() - 1 : 1;
  Shape shape(x.size(), 1);
  shape[0] = x[0];
  shape[channels] = x[channels];
  context.SetResult(0, std::move(shape));
  for (size_t d : {size_t{0}, channels}) ShareDim(context, image, d, 0, d);
  const bool parts_combine = kind == "lp" ? context.Int("p", 2) == 1 : kind != "quantized";
  for (size_t d = 1; d < x.size(); ++d) {
    if (d == channels) continue;
    const FactorId f = NewFactor(context, x[d]);
    if (f == kNoFactor) continue;
    Carry(context.map().operands[image][d], {f});
    context.map().factors[f].aware = kind == "average";
    if (parts_combine) ReduceFactor(context, kind == "max" ? ReduceKind::kMax : ReduceKind::kSum, f);
  }
  if (!parts_combine) {
    AddNote(context, kind == "lp" ? "spatial dimensions stay whole: the root of a sum is not the sum of roots"
                                  : "spatial dimensions stay whole: the mean is rounded to the output's type");
  }
  if (kind == "average") AddLinear(context, {image});
  if (kind == "max") AddPartialSignature(context, ReduceKind::kMax, {image});
  return OkStatus();
}

Status FactorizeMaxUnpool(FactorizerContext& context) {
  const size_t image = context.operand("X"), indices = context.operand("I"),
               output_shape = context.operand("output_shape");
  SBP_RETURN_IF_ERROR(ExpectImage(context, image));
  const Shape& x = context.shape(image);
  if (context.shape(indices) != x) return context.Error("I must have the shape of X");
  const size_t dims = x.size() - 2;
  Shape shape = x;
  if (context.has(output_shape)) {
    SBP_ASSIGN_OR_RETURN(shape, context.ints(output_shape));
    if (shape.size() != x.size()) return context.Error(StrCat("output_shape must have ", x.size(), " entries"));
  } else {
    SBP_ASSIGN_OR_RETURN(const auto kernel, WindowAttribute(context, "kernel_shape", dims, 1, 1));
    SBP_ASSIGN_OR_RETURN(const auto strides, WindowAttribute(context, "strides", dims, 1, 1));
    SBP_ASSIGN_OR_RETURN(const auto pads, WindowAttribute(context, "pads", 2 * dims, 0, 0));
    for (size_t d = 0; d < dims; ++d) shape[d + 2] = (x[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + dims];
  }
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  for (size_t d = 0; d < 2; ++d) {  // indices count positions in the whole output
    if (shape[d] != x[d]) continue;
    const FactorId f = ShareDim(context, image, d, 0, d);
    CopyDim(context.map().operands[image][d], context.map().operands[indices][d]);
    if (f != kNoFactor) context.map().factors[f].aware = true;
  }
  AddNote(context, "spatial dimensions stay whole: an index may point anywhere in them");
  AddLinear(context, {image});
  return OkStatus();
}

}  // namespace sbp
