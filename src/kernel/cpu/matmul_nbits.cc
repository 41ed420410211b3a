// com.microsoft::MatMulNBits: a times the transpose of weights in blocks along k, a scale and a zero point each, packed
// into bytes from the lowest bits on. Some columns of the result at a time, so that no whole weight is ever unpacked.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/nbits_sizes.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

constexpr int64_t kColumns = 64;  // unpacked at a time: 1 MB of f32 for a k of 4096

// `bits` wide numbers in bytes.
struct Packed {
  const uint8_t* bytes;
  int bits;
  int operator()(int64_t i) const {
    const int per_byte = 8 / bits;
    const auto shift = static_cast<int>(i % per_byte) * bits;
    return bytes[i / per_byte] >> shift & ((1 << bits) - 1);
  }
};

// The part of one device: n rows of weights of k numbers, in `blocks` blocks.
template <typename T>
struct Weights {
  int64_t n, k, block_size, row_bytes;
  Packed numbers;
  const T* scales;              // [n, blocks]
  const T* zeros;               // [n, blocks]; of numbers without a sign
  int64_t blocks;               // of scales and zeros
  std::vector<int64_t> groups;  // per row of k, the block whose scale it has

  // Columns [begin, end) of the transpose: out is [k, end - begin].
  void Unpack(int64_t begin, int64_t end, T* out) const {
    const int64_t width = end - begin;
    for (int64_t row = begin; row < end; ++row, ++out) {
      const Packed q{numbers.bytes + row * row_bytes, numbers.bits};
      for (int64_t i = 0; i < k; ++i) {
        const int64_t at = row * blocks + groups[static_cast<size_t>(i)];
        out[i * width] = (static_cast<T>(q(i)) - zeros[at]) * scales[at];
      }
    }
  }
};

template <typename T>
const T* ZerosOf(const KernelCall& call, DType type, int64_t n, int64_t blocks, int bits) {
  T* zeros = call.scratch->Allocate<T>(n * blocks);
  if (!call.has(3)) {
    std::fill(zeros, zeros + n * blocks, static_cast<T>(1 << (bits - 1)));
    return zeros;
  }
  const TensorView& given = call.inputs[3];
  if (IsFloat(given.dtype)) return reinterpret_cast<const T*>(ElementsAs(given, type, *call.scratch));
  const int64_t row_bytes = given.elements() / n;
  for (int64_t row = 0; row < n; ++row) {
    const Packed packed{given.as<const uint8_t>() + row * row_bytes, bits};
    for (int64_t b = 0; b < blocks; ++b) zeros[row * blocks + b] = static_cast<T>(packed(b));
  }
  return zeros;
}

std::vector<int64_t> GroupsOf(const KernelCall& call, int64_t k, int64_t block_size) {
  std::vector<int64_t> groups(static_cast<size_t>(k));
  for (int64_t i = 0; i < k; ++i) groups[static_cast<size_t>(i)] = i / block_size;
  if (!call.has(4)) return groups;
  const TensorView& given = call.inputs[4];
  Convert(given.dtype, given.data, ElementBytes(given.dtype), DType::kI64, reinterpret_cast<std::byte*>(groups.data()),
          sizeof(int64_t), std::min(k, given.elements()));
  return groups;
}

template <typename T>
Status Multiply(DType type, KernelCall& call) {
  const TensorView& b = call.inputs[1];
  TensorView& y = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const NBitsSizes sizes, NBitsSizesOf(call));
  if (sizes.empty) return OkStatus();
  const auto [bits, n, k, block_size, row_bytes, blocks, empty] = sizes;
  const auto elements = [&](size_t i) {
    return reinterpret_cast<const T*>(ElementsAs(call.inputs[i], type, *call.scratch));
  };
  const T* left = elements(0);
  const Weights<T> weights{n,
                           k,
                           block_size,
                           row_bytes,
                           {b.as<const uint8_t>(), bits},
                           elements(2),
                           ZerosOf<T>(call, type, n, blocks, bits),
                           blocks,
                           GroupsOf(call, k, block_size)};
  for (const int64_t group : weights.groups) {
    if (group < 0 || group >= blocks) return RunFailed(StrCat("row group ", group, " of ", blocks));
  }
  T* columns = call.scratch->Allocate<T>(std::max<int64_t>(k, 1) * kColumns);
  std::byte* result = ResultAs(y, type, *call.scratch);
  T* out = reinterpret_cast<T*>(result);
  const int64_t rows = y.elements() / n;
  for (int64_t begin = 0; begin < n; begin += kColumns) {
    const int64_t end = std::min(n, begin + kColumns), width = end - begin;
    weights.Unpack(begin, end, columns);
    Gemm(type, {rows, width, k, std::max<int64_t>(k, 1), width, n}, left, columns, out + begin, false, call.threads);
  }
  if (call.has(5)) {
    const T* bias = elements(5);
    for (int64_t i = 0; i < rows * n; ++i) out[i] += bias[i % n];
  }
  FinishResult(result, type, y);
  return OkStatus();
}

}  // namespace

Status MatMulNBits(KernelCall& call) {
  return GemmType(call.inputs[0].dtype) == DType::kF64 ? Multiply<double>(DType::kF64, call)
                                                       : Multiply<float>(DType::kF32, call);
}

}  // namespace sbp::cpu
