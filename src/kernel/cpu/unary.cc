#include "kernel/scalar/unary.h"

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"

namespace sbp::cpu {
namespace {

template <typename F>
Status Run(KernelCall& call, F f = {}) {
  const DType compute = ComputeType(call.inputs[0].dtype);
  return RunElementwise(call.outputs[0], {&call.inputs[0]}, compute, compute, UnaryLineFor<F>(compute), &f);
}
template <typename F>
Status RunPredicate(KernelCall& call, F f = {}) {
  const DType compute = ComputeType(call.inputs[0].dtype);
  return RunElementwise(call.outputs[0], {&call.inputs[0]}, compute, DType::kBool, UnaryLineFor<F>(compute), &f);
}

}  // namespace

Status Abs(KernelCall& call) { return Run<scalar::AbsOf>(call); }
Status Acos(KernelCall& call) { return Run<scalar::AcosOf>(call); }
Status Acosh(KernelCall& call) { return Run<scalar::AcoshOf>(call); }
Status Asin(KernelCall& call) { return Run<scalar::AsinOf>(call); }
Status Asinh(KernelCall& call) { return Run<scalar::AsinhOf>(call); }
Status Atan(KernelCall& call) { return Run<scalar::AtanOf>(call); }
Status Atanh(KernelCall& call) { return Run<scalar::AtanhOf>(call); }
Status Ceil(KernelCall& call) { return Run<scalar::CeilOf>(call); }
Status Cos(KernelCall& call) { return Run<scalar::CosOf>(call); }
Status Cosh(KernelCall& call) { return Run<scalar::CoshOf>(call); }
Status Erf(KernelCall& call) { return Run<scalar::ErfOf>(call); }
Status Exp(KernelCall& call) { return Run<scalar::ExpOf>(call); }
Status Floor(KernelCall& call) { return Run<scalar::FloorOf>(call); }
Status Log(KernelCall& call) { return Run<scalar::LogOf>(call); }
Status Neg(KernelCall& call) { return Run<scalar::NegOf>(call); }
Status Reciprocal(KernelCall& call) { return Run<scalar::ReciprocalOf>(call); }
Status Round(KernelCall& call) { return Run<scalar::RoundOf>(call); }
Status Sigmoid(KernelCall& call) { return Run<scalar::SigmoidOf>(call); }
Status Sign(KernelCall& call) { return Run<scalar::SignOf>(call); }
Status Sin(KernelCall& call) { return Run<scalar::SinOf>(call); }
Status Sinh(KernelCall& call) { return Run<scalar::SinhOf>(call); }
Status Sqrt(KernelCall& call) { return Run<scalar::SqrtOf>(call); }
Status Tan(KernelCall& call) { return Run<scalar::TanOf>(call); }
Status Tanh(KernelCall& call) { return Run<scalar::TanhOf>(call); }

Status IsNan(KernelCall& call) { return RunPredicate<scalar::IsNanOf>(call); }
Status IsInf(KernelCall& call) {
  scalar::IsInfOf f;
  f.positive = call.attributes->Int("detect_positive", 1) != 0;
  f.negative = call.attributes->Int("detect_negative", 1) != 0;
  return RunPredicate(call, f);
}

}  // namespace sbp::cpu
