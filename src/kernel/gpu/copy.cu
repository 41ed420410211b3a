#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/copy.h"
#include "kernel/gpu/operands.h"
#include "kernel/gpu/walk.h"
#include "kernel/gpu/words.h"
#include "kernel/operands.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// Operand 0 is the source, 1 the target; strides in bytes.
template <typename Unit>
struct CopyUnits {
  const std::byte* source;
  std::byte* target;
  Walk<2> walk;
  SBP_HD void operator()(int64_t i) const {
    const auto offsets = walk.At(i);
    *reinterpret_cast<Unit*>(target + offsets.at[1]) = *reinterpret_cast<const Unit*>(source + offsets.at[0]);
  }
};

// Are both sides, and all their steps but those of the innermost dimension, multiples of `bytes`?
bool AlignedRows(const Walk<2>& walk, const std::byte* source, const std::byte* target, int64_t bytes) {
  if (!Aligned(source, bytes) || !Aligned(target, bytes)) return false;
  for (int k = 0; k < 2; ++k) {
    for (int d = 0; d + 1 < walk.rank; ++d) {
      if (walk.stride[k][d] % bytes != 0) return false;
    }
  }
  return true;
}

// Dimensions in the target's order, so that threads side by side write side by side.
Result<Walk<2>> TargetOrder(const Shape& shape, const std::vector<int64_t>& source,
                            const std::vector<int64_t>& target) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(target[a]) > std::abs(target[b]); });
  Shape sorted;
  std::array<std::vector<int64_t>, 2> strides;
  for (const size_t d : order) {
    sorted.push_back(shape[d]);
    strides[0].push_back(source[d]);
    strides[1].push_back(target[d]);
  }
  return MakeWalk<2>(sorted, strides);
}

Status CopyWalk(gpu::Stream& stream, const Walk<2>& walk, int64_t unit, const std::byte* source, std::byte* target) {
  return WithWord(unit, [&]<typename Unit>(Unit) {
    return gpu::ForEach(stream, walk.elements, CopyUnits<Unit>{source, target, walk});
  });
}

struct FillBytes {
  std::byte* target;
  int64_t bytes;
  Word16 pattern;
  SBP_HD void operator()(int64_t i) const {
    if (16 * (i + 1) <= bytes) {
      *reinterpret_cast<Word16*>(target + 16 * i) = pattern;
      return;
    }
    const auto* from = reinterpret_cast<const std::byte*>(&pattern);
    for (int64_t j = 16 * i; j < bytes; ++j) target[j] = from[j - 16 * i];
  }
};

struct UnpackElements {
  const uint8_t* packed;
  uint8_t* bytes;
  int bits;
  bool extend;
  SBP_HD void operator()(int64_t i) const {
    const int per_byte = 8 / bits;
    const auto top = static_cast<uint8_t>(packed[i / per_byte] << (8 - bits - bits * static_cast<int>(i % per_byte)));
    bytes[i] = static_cast<uint8_t>(extend ? static_cast<int8_t>(top) >> (8 - bits) : top >> (8 - bits));
  }
};

// Index: of a byte of the target.
struct PackElements {
  const uint8_t* bytes;
  uint8_t* packed;
  int bits;
  int64_t n;
  SBP_HD void operator()(int64_t i) const {
    const int per_byte = 8 / bits;
    unsigned value = 0;
    for (int j = 0; j < per_byte && i * per_byte + j < n; ++j)
      value |= (bytes[i * per_byte + j] & ((1u << bits) - 1)) << (bits * j);
    packed[i] = static_cast<uint8_t>(value);
  }
};

}  // namespace

Status CopyStrided(gpu::Stream& stream, const Shape& shape, int64_t bytes, const std::byte* source,
                   const std::vector<int64_t>& source_strides, std::byte* target,
                   const std::vector<int64_t>& target_strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return OkStatus();
  SBP_ASSIGN_OR_RETURN(Walk<2> walk, TargetOrder(shape, source_strides, target_strides));
  const auto inner_is = [&](int64_t step) {
    return walk.rank == 0 || (walk.stride[0][walk.rank - 1] == step && walk.stride[1][walk.rank - 1] == step);
  };
  int64_t unit = bytes;
  if (!inner_is(bytes)) {
    const bool aligned = AlignedRows(walk, source, target, bytes) && walk.stride[0][walk.rank - 1] % bytes == 0 &&
                         walk.stride[1][walk.rank - 1] % bytes == 0;
    if (aligned) return CopyWalk(stream, walk, bytes, source, target);
    Shape with_bytes = shape;  // byte by byte
    std::vector<int64_t> from = source_strides, to = target_strides;
    for (auto* list : {&from, &to}) list->push_back(1);
    with_bytes.push_back(bytes);
    SBP_ASSIGN_OR_RETURN(walk, TargetOrder(with_bytes, from, to));
    return CopyWalk(stream, walk, 1, source, target);
  }
  // Rows of side by side elements: in the widest words that they and their places are multiples of.
  const int64_t row = (walk.rank == 0 ? 1 : walk.size[walk.rank - 1]) * bytes;
  if (walk.rank <= 1) return stream.Copy(source, target, row);
  for (unit = 16; unit > 1; unit /= 2) {
    if (row % unit == 0 && AlignedRows(walk, source, target, unit)) break;
  }
  const int last = walk.rank - 1;
  walk.elements = walk.elements / walk.size[last] * (row / unit);
  walk.size[last] = row / unit;
  walk.stride[0][last] = walk.stride[1][last] = unit;
  walk.narrow = walk.elements < (int64_t{1} << 32);
  return CopyWalk(stream, walk, unit, source, target);
}

Status Fill(gpu::Stream& stream, std::byte* target, int64_t n, const std::byte* element, int64_t bytes) {
  if (n <= 0) return OkStatus();
  FillBytes fill{target, n * bytes, {}};
  for (int64_t i = 0; i < 16; i += bytes)
    std::memcpy(reinterpret_cast<std::byte*>(&fill.pattern) + i, element, static_cast<size_t>(bytes));
  if (fill.pattern.low == 0 && fill.pattern.high == 0) return stream.Zero(target, fill.bytes);
  if (!Aligned(target, 16)) {  // a piece of a message
    SBP_ASSIGN_OR_RETURN(std::byte * aligned, stream.Scratch(16));
    fill.target = aligned;
    fill.bytes = 16;
    SBP_RETURN_IF_ERROR(gpu::ForEach(stream, 1, fill));
    return CopyStrided(stream, {n}, bytes, aligned, {0}, target, {bytes});
  }
  return gpu::ForEach(stream, (fill.bytes + 15) / 16, fill);
}

Status OnBytes(KernelCall& call, KernelFn kernel) {
  if (!HasPacked(call)) return kernel(call);
  const auto packed = [](const TensorView& view) { return view.present() && IsPacked(view.dtype); };
  KernelCall bytes = call;
  for (TensorView& view : bytes.inputs) {
    if (!packed(view)) continue;
    SBP_ASSIGN_OR_RETURN(auto* data, ScratchFor<uint8_t>(call, view.elements()));
    const int bits = DTypeBits(view.dtype);
    const bool extend = IsInteger(view.dtype) && IsSigned(view.dtype);
    SBP_RETURN_IF_ERROR(
        gpu::ForEach(*call.stream, view.elements(), UnpackElements{view.as<const uint8_t>(), data, bits, extend}));
    view.data = reinterpret_cast<std::byte*>(data);
  }
  for (TensorView& view : bytes.outputs) {
    if (!packed(view)) continue;
    SBP_ASSIGN_OR_RETURN(view.data, call.stream->Scratch(view.elements()));
  }
  SBP_RETURN_IF_ERROR(kernel(bytes));
  for (size_t r = 0; r < bytes.outputs.size(); ++r) {
    TensorView& view = bytes.outputs[r];
    if (packed(view)) {
      const PackElements pack{view.as<const uint8_t>(), call.outputs[r].as<uint8_t>(), DTypeBits(view.dtype),
                              view.elements()};
      SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, view.bytes(), pack));
      view.data = call.outputs[r].data;
    }
    call.outputs[r] = view;
  }
  return OkStatus();
}

}  // namespace sbp::SBP_GPU_BUILD
