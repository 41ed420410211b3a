// Inner loops over scalar functors, and their choice by element type. Results of predicates are bool.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/cpu/loop.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::cpu {

// `context` is the functor.
template <typename T, typename F>
void UnaryLine(std::byte* const* data, const int64_t* strides, int64_t n, void* context) {
  const F f = *static_cast<const F*>(context);
  using Out = decltype(f(T{}));
  if (strides[0] == sizeof(Out) && strides[1] == sizeof(T)) {
    auto* out = reinterpret_cast<Out*>(data[0]);
    const auto* in = reinterpret_cast<const T*>(data[1]);
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<Out*>(data[0] + i * strides[0]) = f(*reinterpret_cast<const T*>(data[1] + i * strides[1]));
  }
}

template <typename T, typename F>
void BinaryLine(std::byte* const* data, const int64_t* strides, int64_t n, void* context) {
  const F f = *static_cast<const F*>(context);
  using Out = decltype(f(T{}, T{}));
  constexpr int64_t kSize = sizeof(T);
  auto* out = reinterpret_cast<Out*>(data[0]);
  const auto *a = reinterpret_cast<const T*>(data[1]), *b = reinterpret_cast<const T*>(data[2]);
  if (strides[0] == sizeof(Out) && strides[1] == kSize && strides[2] == kSize) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (strides[0] == sizeof(Out) && strides[1] == kSize && strides[2] == 0) {
    const T b0 = *b;
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b0);
  } else if (strides[0] == sizeof(Out) && strides[1] == 0 && strides[2] == kSize) {
    const T a0 = *a;
    for (int64_t i = 0; i < n; ++i) out[i] = f(a0, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(data[0] + i * strides[0]) = f(*reinterpret_cast<const T*>(data[1] + i * strides[1]),
                                                            *reinterpret_cast<const T*>(data[2] + i * strides[2]));
    }
  }
}

// The line for a compute type; nullptr when F has none.
template <typename F>
InnerLoop UnaryLineFor(DType compute) {
  if (compute == DType::kF32) return UnaryLine<float, F>;
  if (compute == DType::kF64) return UnaryLine<double, F>;
  if constexpr (F::kIntegers) {
    if (compute == DType::kI64) return UnaryLine<int64_t, F>;
    if (compute == DType::kU64) return UnaryLine<uint64_t, F>;
  }
  if constexpr (F::kComplex) {
    if (compute == DType::kC64) return UnaryLine<std::complex<float>, F>;
    if (compute == DType::kC128) return UnaryLine<std::complex<double>, F>;
  }
  return nullptr;
}
template <typename F>
InnerLoop BinaryLineFor(DType compute) {
  if (compute == DType::kF32) return BinaryLine<float, F>;
  if (compute == DType::kF64) return BinaryLine<double, F>;
  if constexpr (F::kIntegers) {
    if (compute == DType::kI64) return BinaryLine<int64_t, F>;
    if (compute == DType::kU64) return BinaryLine<uint64_t, F>;
  }
  if constexpr (F::kComplex) {
    if (compute == DType::kC64) return BinaryLine<std::complex<float>, F>;
    if (compute == DType::kC128) return BinaryLine<std::complex<double>, F>;
  }
  return nullptr;
}

// Runs a line over `out` and up to three operands, all seen as `compute`, the result as `result`.
Status RunElementwise(TensorView& out, std::initializer_list<const TensorView*> operands, DType compute, DType result,
                      InnerLoop line, void* functor);

}  // namespace sbp::cpu
