// Resize as any device reads it: the question of base/resample.h, and its taps within a part.
#pragma once

#include <vector>

#include "base/dtype.h"
#include "base/resample.h"
#include "base/status.h"
#include "kernel/kernel.h"
#include "sbp/shard_math.h"

namespace sbp {

// The numbers of operands 1 to 3; empty where absent.
struct ResizeOperands {
  std::vector<double> roi, scales, sizes;
};
// Error: an unknown mode, a roi that does not fit the axes.
Result<ResizeQuestion> ResizeQuestionOf(const KernelCall& call, const ResizeOperands& operands);

// `in`, `out`: what is held of a dimension of input and output. A tap of weight 0 may lie beyond what the part holds:
// it is moved into it. Error: one that counts does.
Status KeepInside(Range in, Range out, ResizeTaps& taps);

// Is an operand of this type mixed in f64, else in f32? The narrower floats are mixed as f32, integers as they are in
// f32 or f64, whichever holds them.
bool MixesWide(DType type);

}  // namespace sbp
