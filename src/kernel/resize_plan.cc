#include "kernel/resize_plan.h"

#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "sbp/shard_math.h"

namespace sbp {

Result<ResizeQuestion> ResizeQuestionOf(const KernelCall& call, const ResizeOperands& operands) {
  ResizeQuestion question;
  const Attributes& attributes = *call.attributes;
  question.mode = attributes.String("mode", question.mode);
  question.where = attributes.String("coordinate_transformation_mode", question.where);
  question.nearest = attributes.String("nearest_mode", question.nearest);
  question.policy = attributes.String("keep_aspect_ratio_policy", question.policy);
  question.cubic = attributes.Float("cubic_coeff_a", question.cubic);
  question.antialias = attributes.Int("antialias", 0) != 0;
  question.exclude_outside = attributes.Int("exclude_outside", 0) != 0;
  question.in = call.inputs[0].whole;
  question.out = call.outputs[0].whole;
  if (const auto* axes = attributes.Ints("axes")) {
    question.axes.assign(axes->begin(), axes->end());
    question.has_axes = true;
  }
  question.roi = operands.roi;
  question.scales = operands.scales;
  question.sizes = operands.sizes;
  if (question.mode != "nearest" && question.mode != "linear" && question.mode != "cubic") {
    return RunFailed(StrCat("no mode ", Quote(question.mode)));
  }
  const size_t resized = question.has_axes ? question.axes.size() : question.in.size();
  if (question.crops() && question.roi.size() != 2 * resized) return RunFailed("roi does not fit the axes");
  return question;
}

Status KeepInside(Range in, Range out, ResizeTaps& taps) {
  for (int64_t o = out.begin; o < out.end; ++o) {
    for (size_t k = 0; k < taps.count; ++k) {
      int64_t& index = taps.index[static_cast<size_t>(o) * taps.count + k];
      if (index >= in.begin && index < in.end) continue;
      if (taps.weight[static_cast<size_t>(o) * taps.count + k] != 0) {
        return Defect("the part does not hold all elements that are mixed");
      }
      index = in.begin;
    }
  }
  return OkStatus();
}

bool MixesWide(DType type) { return type == DType::kF64 || (!IsFloat(type) && DTypeBits(type) > 16); }

}  // namespace sbp
