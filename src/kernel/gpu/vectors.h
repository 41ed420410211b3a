// Element-wise functions over dense operands of one stored type, 16 bytes of a thread at a time.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/gpu/elements.h"

namespace sbp::SBP_GPU_BUILD {

template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T v[N];
};

// Index: of a pack. Out's elements are F()(Decode(In's)), encoded.
template <typename In, typename Out, typename F>
struct UnaryVector {
  static constexpr int kElements = 16 / static_cast<int>(sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
  F f;
  const std::byte* in;
  std::byte* out;
  int64_t n;
  SBP_HD void operator()(int64_t i) const {
    const int64_t begin = i * kElements;
    if (begin + kElements > n) {
      for (int64_t j = begin; j < n; ++j) At<Out>(out, j) = Encode<Out>(f(Decode(At<In>(in, j))));
      return;
    }
    const auto x = At<Pack<In, kElements>>(in, i);
    Pack<Out, kElements> y;
    for (int j = 0; j < kElements; ++j) y.v[j] = Encode<Out>(f(Decode(x.v[j])));
    At<Pack<Out, kElements>>(out, i) = y;
  }
};

template <typename In, typename Out, typename F>
Status RunUnaryVector(gpu::Stream& stream, const F& f, const std::byte* in, std::byte* out, int64_t n) {
  using Vector = UnaryVector<In, Out, F>;
  return gpu::ForEach(stream, (n + Vector::kElements - 1) / Vector::kElements, Vector{f, in, out, n});
}

// The same of two operands, each dense or (kOne) a single element.
template <typename T, bool kOneA, bool kOneB, typename F>
struct BinaryVector {
  static constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  F f;
  const std::byte *a, *b;
  std::byte* out;
  int64_t n;
  SBP_HD void operator()(int64_t i) const {
    const int64_t begin = i * kElements;
    if (begin + kElements > n) {
      for (int64_t j = begin; j < n; ++j)
        At<T>(out, j) = Encode<T>(f(Decode(At<T>(a, kOneA ? 0 : j)), Decode(At<T>(b, kOneB ? 0 : j))));
      return;
    }
    using Elements = Pack<T, kElements>;
    Elements x, y, z;
    if constexpr (kOneA)
      x.v[0] = At<T>(a, 0);
    else
      x = At<Elements>(a, i);
    if constexpr (kOneB)
      y.v[0] = At<T>(b, 0);
    else
      y = At<Elements>(b, i);
    for (int j = 0; j < kElements; ++j) z.v[j] = Encode<T>(f(Decode(x.v[kOneA ? 0 : j]), Decode(y.v[kOneB ? 0 : j])));
    At<Elements>(out, i) = z;
  }
};

template <typename T, bool kOneA, bool kOneB, typename F>
Status RunBinaryVector(gpu::Stream& stream, const F& f, const std::byte* a, const std::byte* b, std::byte* out,
                       int64_t n) {
  using Vector = BinaryVector<T, kOneA, kOneB, F>;
  return gpu::ForEach(stream, (n + Vector::kElements - 1) / Vector::kElements, Vector{f, a, b, out, n});
}

}  // namespace sbp::SBP_GPU_BUILD
