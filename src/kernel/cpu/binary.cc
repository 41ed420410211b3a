#include "kernel/scalar/binary.h"

#include <algorithm>
#include <cstddef>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/kernels.h"
#include "kernel/cpu/loop.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

template <typename F>
Status Run(KernelCall& call, F f = {}) {
  const DType compute = ComputeType(call.inputs[0].dtype);
  return RunElementwise(call.outputs[0], {&call.inputs[0], &call.inputs[1]}, compute, compute,
                        BinaryLineFor<F>(compute), &f);
}

// Over any number of operands, in any order: the one that the result lies over comes first, or it would be gone.
template <typename F>
Status Fold(KernelCall& call) {
  F f;
  TensorView& out = call.outputs[0];
  const DType compute = ComputeType(out.dtype);
  const InnerLoop line = BinaryLineFor<F>(compute);
  const auto below = std::ranges::find(call.inputs, out.data, &TensorView::data);
  if (below != call.inputs.end()) std::iter_swap(call.inputs.begin(), below);
  const TensorView* left = &call.inputs[0];
  // One operand: folded with itself, which changes nothing.
  const size_t n = call.inputs.size();
  for (size_t i = n > 1 ? 1 : 0; i < n; ++i, left = &out) {
    SBP_RETURN_IF_ERROR(RunElementwise(out, {left, &call.inputs[i]}, compute, compute, line, &f));
  }
  return OkStatus();
}

Status Undefined(bool undefined) { return undefined ? RunFailed("an integer is divided by 0") : OkStatus(); }

}  // namespace

Status Add(KernelCall& call) { return Run<scalar::AddOf>(call); }
Status Sub(KernelCall& call) { return Run<scalar::SubOf>(call); }
Status Mul(KernelCall& call) { return Run<scalar::MulOf>(call); }
Status Max(KernelCall& call) { return Fold<scalar::MaxOf>(call); }
Status Min(KernelCall& call) { return Fold<scalar::MinOf>(call); }

Status Div(KernelCall& call) {
  bool undefined = false;
  scalar::DivOf f;
  f.undefined = &undefined;
  SBP_RETURN_IF_ERROR(Run(call, f));
  return Undefined(undefined);
}
Status Mod(KernelCall& call) {
  bool undefined = false;
  scalar::ModOf f;
  f.truncated = call.attributes->Int("fmod", 0) != 0;
  f.undefined = &undefined;
  SBP_RETURN_IF_ERROR(Run(call, f));
  return Undefined(undefined);
}

// The result has the type of the base; an integer to a float's power is computed in f64 and cut.
Status Pow(KernelCall& call) {
  const bool integers = !IsFloat(call.inputs[0].dtype) && !IsFloat(call.inputs[1].dtype);
  DType compute = ComputeType(call.inputs[0].dtype);
  if (!integers && compute != DType::kF32) compute = DType::kF64;
  scalar::PowOf f;
  return RunElementwise(call.outputs[0], {&call.inputs[0], &call.inputs[1]}, compute, compute,
                        BinaryLineFor<scalar::PowOf>(compute), &f);
}

}  // namespace sbp::cpu
