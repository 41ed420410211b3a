#include "kernel/nbits_sizes.h"

#include "kernel/view.h"

namespace sbp {

Result<NBitsSizes> NBitsSizesOf(const KernelCall& call) {
  const TensorView &a = call.inputs[0], &b = call.inputs[1], &y = call.outputs[0];
  NBitsSizes sizes;
  sizes.bits = static_cast<int>(call.attributes->Int("bits", 4));
  sizes.n = b.shape[0];
  sizes.k = a.shape.back();
  sizes.block_size = call.attributes->Int("block_size", 0);
  if (sizes.bits < 1 || 8 % sizes.bits != 0 || sizes.block_size < 1 ||
      call.attributes->Int("weight_prepacked", 0) != 0) {
    return RunFailed("only weights of bits 1, 2, 4 or 8, block_size above 0 and weight_prepacked 0 are read");
  }
  sizes.empty = y.elements() == 0 || sizes.n == 0;
  if (sizes.empty) return sizes;
  sizes.row_bytes = b.elements() / sizes.n;
  sizes.blocks = call.inputs[2].elements() / sizes.n;
  if (sizes.row_bytes * 8 < sizes.k * sizes.bits || y.shape.back() != sizes.n) {
    return RunFailed("the weights do not fit the operands");
  }
  return sizes;
}

}  // namespace sbp
