// Element-wise functions of one and two operands: by packs where floats lie dense, else element by element through a
// walk.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/complex.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/vectors.h"
#include "kernel/gpu/walk.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {

// C: what is computed in. The result is of type C, or bool.
template <typename C, typename F>
struct UnaryOne {
  F f;
  DType in_type, out_type;
  const std::byte* in;
  std::byte* out;
  Walk<1> walk;
  SBP_HD void operator()(int64_t i) const { StoreNumber(out_type, out, i, f(LoadNumber<C>(in_type, in, walk(i)))); }
};

template <typename C, typename F>
struct BinaryOne {
  F f;
  DType a_type, b_type, out_type;
  const std::byte *a, *b;
  std::byte* out;
  Walk<2> walk;
  SBP_HD void operator()(int64_t i) const {
    const auto offsets = walk.At(i);
    StoreNumber(out_type, out, i, f(LoadNumber<C>(a_type, a, offsets.at[0]), LoadNumber<C>(b_type, b, offsets.at[1])));
  }
};

// run.operator()<C>() for the type that is computed in; an error where F has none.
template <typename F, typename Run>
Status WithCompute(DType compute, const Run& run) {
  if (compute == DType::kF32) return run.template operator()<float>();
  if (compute == DType::kF64) return run.template operator()<double>();
  if constexpr (F::kIntegers) {
    if (compute == DType::kI64) return run.template operator()<int64_t>();
    if (compute == DType::kU64) return run.template operator()<uint64_t>();
  }
  if constexpr (F::kComplex) {
    if (compute == DType::kC64) return run.template operator()<Complex<float>>();
    if (compute == DType::kC128) return run.template operator()<Complex<double>>();
  }
  return Defect("no kernel for this element type");
}

// Does the type lie in packs? Runs run.operator()<Stored>() and gives its status in `status`.
template <typename Run>
bool WithPacked(DType type, Status& status, const Run& run) {
  if (type == DType::kF32) status = run.template operator()<float>();
  if (type == DType::kF16) status = run.template operator()<Half>();
  if (type == DType::kBF16) status = run.template operator()<Brain>();
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

template <typename F>
Status RunUnary(KernelCall& call, const F& f) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(auto strides, StretchedStrides(in, out.shape));
  SBP_ASSIGN_OR_RETURN(const Walk<1> walk, MakeWalk<1>(out.shape, {std::move(strides)}));
  if constexpr (!std::is_same_v<decltype(f(float{})), bool>) {
    Status status;
    const auto fast = [&]<typename T>() {
      return RunUnaryVector<T, T>(*call.stream, f, in.data, out.data, walk.elements);
    };
    if (walk.contiguous(0) && in.dtype == out.dtype && WithPacked(in.dtype, status, fast)) return status;
  }
  return WithCompute<F>(ComputeType(in.dtype), [&]<typename C>() {
    return gpu::ForEach(*call.stream, walk.elements, UnaryOne<C, F>{f, in.dtype, out.dtype, in.data, out.data, walk});
  });
}

// Into `out` of a and b; `compute`: the type that both are seen as.
template <typename C, typename F>
Status RunBinaryOne(gpu::Stream& stream, const F& f, const TensorView& a, const TensorView& b, TensorView& out,
                    const Walk<2>& walk) {
  return gpu::ForEach(stream, walk.elements,
                      BinaryOne<C, F>{f, a.dtype, b.dtype, out.dtype, a.data, b.data, out.data, walk});
}

inline Result<Walk<2>> BinaryWalk(const TensorView& a, const TensorView& b, const TensorView& out) {
  SBP_ASSIGN_OR_RETURN(auto a_strides, StretchedStrides(a, out.shape));
  SBP_ASSIGN_OR_RETURN(auto b_strides, StretchedStrides(b, out.shape));
  return MakeWalk<2>(out.shape, {std::move(a_strides), std::move(b_strides)});
}

template <typename F>
Status RunBinary(KernelCall& call, const F& f, const TensorView& a, const TensorView& b) {
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const Walk<2> walk, BinaryWalk(a, b, out));
  if constexpr (!std::is_same_v<decltype(f(float{}, float{})), bool>) {
    Status status;
    const auto fast = [&]<typename T>() {
      const int64_t n = walk.elements;
      if (!walk.contiguous(0)) return RunBinaryVector<T, true, false>(*call.stream, f, a.data, b.data, out.data, n);
      if (!walk.contiguous(1)) return RunBinaryVector<T, false, true>(*call.stream, f, a.data, b.data, out.data, n);
      return RunBinaryVector<T, false, false>(*call.stream, f, a.data, b.data, out.data, n);
    };
    const bool dense =
        (walk.contiguous(0) && (walk.contiguous(1) || walk.constant(1))) || (walk.constant(0) && walk.contiguous(1));
    const bool same = a.dtype == out.dtype && b.dtype == out.dtype;
    if (dense && same && WithPacked(out.dtype, status, fast)) return status;
  }
  return WithCompute<F>(ComputeType(a.dtype),
                        [&]<typename C>() { return RunBinaryOne<C>(*call.stream, f, a, b, out, walk); });
}

}  // namespace sbp::SBP_GPU_BUILD
