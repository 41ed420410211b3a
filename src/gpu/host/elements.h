// Elements of the float types that Gemm and Conv take, as numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/dtype.h"
#include "base/minifloat.h"
#include "gpu/gpu.h"

namespace sbp::gpu::host {

inline bool IsProductType(DType type) {
  return type == DType::kF32 || type == DType::kF64 || type == DType::kF16 || type == DType::kBF16;
}

// T: float, or double for f64.
template <typename T>
std::vector<T> ReadElements(DType type, const std::byte* data, int64_t n) {
  std::vector<T> values(static_cast<size_t>(n));
  if (n == 0) return values;
  if (DTypeBits(type) != 16) {
    std::memcpy(values.data(), data, values.size() * sizeof(T));
    return values;
  }
  const FloatLayout layout = LayoutOf(type).value();
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, data + 2 * i, sizeof bits);
    values[i] = static_cast<T>(DecodeMinifloat(layout, bits));
  }
  return values;
}

template <typename T>
void WriteElements(DType type, const std::vector<T>& values, std::byte* data) {
  if (values.empty()) return;
  if (DTypeBits(type) != 16) {
    std::memcpy(data, values.data(), values.size() * sizeof(T));
    return;
  }
  const FloatLayout layout = LayoutOf(type).value();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<uint16_t>(EncodeMinifloat(layout, static_cast<double>(values[i]), false));
    std::memcpy(data + 2 * i, &bits, sizeof bits);
  }
}

}  // namespace sbp::gpu::host
