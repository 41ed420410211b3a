// Slice and Pad as any device reads them: which index of the operand lies under an index of the result, in the whole,
// and what the operand's part holds of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp {

// Along one dimension: the result's index i reads the operand's index start + i * step.
struct SliceStep {
  int64_t start = 0, step = 1;
};

// Values of the operands; absent ones are empty, `axes` unless has_axes.
struct SliceValues {
  std::vector<int64_t> starts, ends, axes, steps;
  bool has_axes = false, has_steps = false;
};
// One per dimension of the operand. Sets the result's sizes where the values say others than planned. Errors
// (kRunFailed): an axis out of range, a step of 0, a size that there is no room for.
Result<std::vector<SliceStep>> SliceSteps(const TensorView& in, const SliceValues& values, TensorView& out);

struct PadValues {
  std::vector<int64_t> pads, axes;
  bool has_axes = false;
};
// How many elements are put before each dimension; negative: taken away. As SliceSteps for the result. `constant`: else
// an empty dimension cannot be padded.
Result<std::vector<int64_t>> PadsBefore(const TensorView& in, const PadValues& values, bool constant, TensorView& out);

// The box of the result whose elements the operand's part holds, and where they lie in both; in elements.
struct HeldElements {
  Shape shape;
  std::vector<int64_t> source_strides;
  int64_t source = 0, target = 0;
};
std::optional<HeldElements> FindHeld(const TensorView& in, const std::vector<SliceStep>& steps, const TensorView& out);

}  // namespace sbp
