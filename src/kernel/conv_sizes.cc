#include "kernel/conv_sizes.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr const char* kNoGroups = "the channels do not divide into groups";

Status CheckRanks(const KernelCall& call, std::string_view op) {
  const TensorView &x = call.inputs[0], &weight = call.inputs[1], &y = call.outputs[0];
  const bool alike = weight.rank() >= 2 && x.rank() == weight.rank() && y.rank() == x.rank();
  return alike ? OkStatus() : RunFailed(StrCat(op, " needs operands of one rank"));
}

void SetSpatial(const KernelCall& call, const Window& window, ConvSizes& sizes) {
  std::copy(window.begin(), window.end(), sizes.window);
  sizes.in_size = CountFrom(call.inputs[0].shape, 2);
  sizes.out_size = CountFrom(call.outputs[0].shape, 2);
  sizes.kernel_size = CountFrom(call.inputs[1].shape, 2);
}

Shape KernelOf(const KernelCall& call) {
  const Shape& weight = call.inputs[1].shape;
  return Shape(weight.begin() + 2, weight.end());
}

}  // namespace

int64_t CountFrom(const Shape& shape, size_t first) {
  int64_t count = 1;
  for (size_t d = first; d < shape.size(); ++d) count *= shape[d];
  return count;
}

Result<ConvSizes> ConvSizesOf(const KernelCall& call) {
  SBP_RETURN_IF_ERROR(CheckRanks(call, "Conv"));
  const TensorView &x = call.inputs[0], &weight = call.inputs[1], &y = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const Window window, WindowOf(call, KernelOf(call)));
  ConvSizes sizes{};
  sizes.in_channels = weight.shape[1];
  sizes.groups = sizes.in_channels > 0 ? x.shape[1] / sizes.in_channels : 1;
  if (sizes.groups < 1 || sizes.groups * sizes.in_channels != x.shape[1] || weight.shape[0] % sizes.groups != 0 ||
      y.shape[1] != weight.shape[0]) {
    return RunFailed(kNoGroups);
  }
  sizes.out_channels = weight.shape[0] / sizes.groups;
  SetSpatial(call, window, sizes);
  return sizes;
}

Result<ConvSizes> TransposedConvSizesOf(const KernelCall& call) {
  SBP_RETURN_IF_ERROR(CheckRanks(call, "ConvTranspose"));
  const TensorView &x = call.inputs[0], &weight = call.inputs[1], &y = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const Window window, TransposedWindowOf(call, KernelOf(call)));
  ConvSizes sizes{};
  sizes.out_channels = weight.shape[1];
  sizes.groups = sizes.out_channels > 0 ? y.shape[1] / sizes.out_channels : 0;
  if (sizes.groups < 1 || sizes.groups * sizes.out_channels != y.shape[1] || x.shape[1] != weight.shape[0] ||
      x.shape[1] % sizes.groups != 0) {
    return RunFailed(kNoGroups);
  }
  sizes.in_channels = x.shape[1] / sizes.groups;
  SetSpatial(call, window, sizes);
  return sizes;
}

}  // namespace sbp
