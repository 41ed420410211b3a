// com.microsoft::MatMulNBits: a times the transpose of weights in blocks along k, a scale and a zero point each, packed
// into bytes from the lowest bits on. The weights are unpacked into scratch, in the type of a.
#include <cstdint>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "gpu/gpu.h"
#include "kernel/convert.h"
#include "kernel/gpu/device_errors.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/nbits_sizes.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// Number i of those packed with `bits` each.
SBP_HD int PackedNumber(const uint8_t* bytes, int bits, int64_t i) {
  const int per_byte = 8 / bits, shift = static_cast<int>(i % per_byte) * bits;
  return bytes[i / per_byte] >> shift & ((1 << bits) - 1);
}

// Index: of an element of the weights, [n, k].
template <typename C>
struct UnpackWeights {
  int64_t k, row_bytes, blocks, block_size;
  int bits;
  const uint8_t* numbers;
  DType scale_type, zero_type, group_type, type;
  const std::byte* scales;  // [n, blocks]
  const std::byte* zeros;   // [n, blocks], packed when of integers; nullptr: the middle of the numbers
  int64_t zero_row_bytes;   // of packed ones; 0: not packed
  const std::byte* groups;  // per row of k, the block whose scale it has; nullptr: in order
  int64_t given_groups;
  std::byte* out;
  uint32_t* errors;
  SBP_HD void operator()(int64_t i) const {
    const int64_t row = Divide(i, k), column = i - row * k;
    int64_t group = column / block_size;
    if (groups != nullptr && column < given_groups) group = LoadInteger(group_type, groups, column);
    if (group < 0 || group >= blocks) {
      gpu::SetBits(errors, kIndexOutOfRange);
      group = 0;
    }
    const int64_t at = row * blocks + group;
    C zero = static_cast<C>(1 << (bits - 1));
    if (zeros != nullptr) {
      zero = zero_row_bytes > 0 ? static_cast<C>(PackedNumber(
                                      reinterpret_cast<const uint8_t*>(zeros) + row * zero_row_bytes, bits, group))
                                : LoadAs<C>(zero_type, zeros, at);
    }
    const C number = static_cast<C>(PackedNumber(numbers + row * row_bytes, bits, column));
    StoreNumber(type, out, i, (number - zero) * LoadAs<C>(scale_type, scales, at));
  }
};

template <typename C>
struct AddToRows {
  DType type, bias_type;
  int64_t n;
  const std::byte* bias;
  std::byte* y;
  SBP_HD void operator()(int64_t i) const {
    StoreNumber(type, y, i, LoadNumber<C>(type, y, i) + LoadAs<C>(bias_type, bias, i % n));
  }
};

template <typename C>
Status Multiply(KernelCall& call) {
  const TensorView &a = call.inputs[0], &b = call.inputs[1], &scales = call.inputs[2];
  TensorView& y = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const NBitsSizes sizes, NBitsSizesOf(call));
  if (sizes.empty) return OkStatus();
  const int64_t n = sizes.n, k = sizes.k;
  UnpackWeights<C> unpack{k, sizes.row_bytes, sizes.blocks, sizes.block_size, sizes.bits, b.as<const uint8_t>()};
  unpack.type = a.dtype;
  unpack.scale_type = scales.dtype;
  unpack.scales = scales.data;
  if (call.has(3)) {
    unpack.zeros = call.inputs[3].data;
    unpack.zero_type = call.inputs[3].dtype;
    unpack.zero_row_bytes = IsFloat(call.inputs[3].dtype) ? 0 : call.inputs[3].elements() / n;
  }
  if (call.has(4)) {
    unpack.groups = call.inputs[4].data;
    unpack.group_type = call.inputs[4].dtype;
    unpack.given_groups = call.inputs[4].elements();
  }
  unpack.errors = call.stream->error_word();
  SBP_ASSIGN_OR_RETURN(unpack.out, call.stream->Scratch(n * k * ElementBytes(a.dtype)));
  SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, n * k, unpack));
  gpu::GemmCall gemm;
  gemm.dtype = a.dtype;
  gemm.allow_tf32 = call.allow_tf32;
  gemm.transpose_c = true;
  gemm.m = y.elements() / n;
  gemm.n = n;
  gemm.k = k;
  gemm.a = a.data;
  gemm.c = unpack.out;
  gemm.out = y.data;
  SBP_RETURN_IF_ERROR(call.stream->Gemm(gemm));
  if (!call.has(5)) return OkStatus();
  return gpu::ForEach(*call.stream, y.elements(),
                      AddToRows<C>{y.dtype, call.inputs[5].dtype, n, call.inputs[5].data, y.data});
}

}  // namespace

Status MatMulNBits(KernelCall& call) {
  return call.inputs[0].dtype == DType::kF64 ? Multiply<double>(call) : Multiply<float>(call);
}

}  // namespace sbp::SBP_GPU_BUILD
