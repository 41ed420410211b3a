#include "kernel/stretch.h"

#include <cstddef>

#include "base/text.h"
#include "kernel/convert.h"

namespace sbp {

Result<std::vector<int64_t>> StretchSteps(const TensorView& view, const Shape& shape) {
  const size_t rank = shape.size(), own = view.shape.size();
  std::vector<int64_t> steps(rank, 0);
  bool fits = own <= rank;
  int64_t step = 1;
  for (size_t d = own; fits && d-- > 0;) {
    const size_t at = d + rank - own;
    if (view.shape[d] != 1) steps[at] = step;
    fits = view.shape[d] == 1 || view.shape[d] == shape[at];
    step *= view.shape[d];
  }
  if (fits) return steps;
  return Defect(StrCat("shape [", Join(view.shape, ","), "] cannot be stretched to [", Join(shape, ","), "]"));
}

Result<std::vector<int64_t>> ExpandedStrides(const KernelCall& call) {
  const TensorView& in = call.inputs[0];
  Result<std::vector<int64_t>> strides = StretchSteps(in, call.outputs[0].shape);
  if (!strides.ok()) return RunFailed(strides.status().message());
  for (int64_t& stride : *strides) stride *= ElementBytes(in.dtype);
  return strides;
}

}  // namespace sbp
