// Arithmetic of two operands.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/device_errors.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/elementwise.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/kernel.h"
#include "kernel/scalar/binary.h"
#include "kernel/scalar/integer.h"
#include "kernel/scalar/unary.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// As scalar::DivOf and scalar::ModOf; what has no result is noted in the device's word.
struct Divide : scalar::AllNumbers {
  uint32_t* errors;
  explicit Divide(uint32_t* errors) : errors(errors) {}
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b != 0) return scalar::Quotient(a, b);
      gpu::SetBits(errors, kDividedByZero);
      return T{0};
    } else {
      return a / b;
    }
  }
};
struct Remain : scalar::RealAndInteger {
  uint32_t* errors;
  bool truncated;
  Remain(uint32_t* errors, bool truncated) : errors(errors), truncated(truncated) {}
  template <typename T>
  SBP_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b != 0) return truncated ? scalar::Remainder(a, b) : scalar::Modulo(a, b);
      gpu::SetBits(errors, kDividedByZero);
      return T{0};
    } else {
      scalar::ModOf f;
      f.truncated = truncated;
      return f(a, b);
    }
  }
};

template <typename F>
Status Run(KernelCall& call, const F& f = {}) {
  return RunBinary(call, f, call.inputs[0], call.inputs[1]);
}

// Over any number of operands, in any order: the one that the result lies over comes first, or it would be gone. One
// operand: folded with itself, which changes nothing.
template <typename F>
Status Fold(KernelCall& call) {
  const size_t n = call.inputs.size();
  for (size_t i = 1; i < n; ++i) {
    if (call.inputs[i].data == call.outputs[0].data) std::swap(call.inputs[0], call.inputs[i]);
  }
  const TensorView* left = &call.inputs[0];
  for (size_t i = n > 1 ? 1 : 0; i < n; ++i, left = &call.outputs[0])
    SBP_RETURN_IF_ERROR(RunBinary(call, F{}, *left, call.inputs[i]));
  return OkStatus();
}

// Of operands of different types: both are seen as C, and the result is converted as Cast does.
template <typename C>
struct MixedPower {
  DType a_type, b_type, out_type;
  const std::byte *a, *b;
  std::byte* out;
  Walk<2> walk;
  SBP_HD void operator()(int64_t i) const {
    const auto offsets = walk.At(i);
    const scalar::PowOf f;
    StoreAs(out_type, out, i, f(LoadAs<C>(a_type, a, offsets.at[0]), LoadAs<C>(b_type, b, offsets.at[1])));
  }
};

}  // namespace

Status Add(KernelCall& call) { return Run<scalar::AddOf>(call); }
Status Sub(KernelCall& call) { return Run<scalar::SubOf>(call); }
Status Mul(KernelCall& call) { return Run<scalar::MulOf>(call); }
Status Max(KernelCall& call) { return Fold<scalar::MaxOf>(call); }
Status Min(KernelCall& call) { return Fold<scalar::MinOf>(call); }
Status Div(KernelCall& call) { return Run(call, Divide(call.stream->error_word())); }
Status Mod(KernelCall& call) {
  return Run(call, Remain(call.stream->error_word(), call.attributes->Int("fmod", 0) != 0));
}

// The result has the type of the base; an integer to a float's power is computed in f64 and cut.
Status Pow(KernelCall& call) {
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  TensorView& out = call.outputs[0];
  if (a.dtype == b.dtype) return Run<scalar::PowOf>(call);
  SBP_ASSIGN_OR_RETURN(const Walk<2> walk, BinaryWalk(a, b, out));
  const auto run = [&]<typename C>(C) {
    return gpu::ForEach(*call.stream, walk.elements,
                        MixedPower<C>{a.dtype, b.dtype, out.dtype, a.data, b.data, out.data, walk});
  };
  const DType compute = ComputeType(a.dtype);
  if (!IsFloat(a.dtype) && !IsFloat(b.dtype)) return compute == DType::kU64 ? run(uint64_t{}) : run(int64_t{});
  return compute == DType::kF32 ? run(float{}) : run(double{});
}

}  // namespace sbp::SBP_GPU_BUILD
