#include <cmath>

#include "base/host_device.h"
#include "base/status.h"
#include "kernel/gpu/complex.h"
#include "kernel/gpu/elementwise.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/kernel.h"
#include "kernel/scalar/unary.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

struct ExpOf : scalar::RealAndComplex {
  template <typename T>
  SBP_HD T operator()(T x) const {
    if constexpr (kIsComplex<T>) {
      const auto length = std::exp(x.re);
      return {length * std::cos(x.im), length * std::sin(x.im)};
    } else {
      return scalar::Exp(x);
    }
  }
};

}  // namespace

Status Abs(KernelCall& call) { return RunUnary(call, scalar::AbsOf{}); }
Status Acos(KernelCall& call) { return RunUnary(call, scalar::AcosOf{}); }
Status Acosh(KernelCall& call) { return RunUnary(call, scalar::AcoshOf{}); }
Status Asin(KernelCall& call) { return RunUnary(call, scalar::AsinOf{}); }
Status Asinh(KernelCall& call) { return RunUnary(call, scalar::AsinhOf{}); }
Status Atan(KernelCall& call) { return RunUnary(call, scalar::AtanOf{}); }
Status Atanh(KernelCall& call) { return RunUnary(call, scalar::AtanhOf{}); }
Status Ceil(KernelCall& call) { return RunUnary(call, scalar::CeilOf{}); }
Status Cos(KernelCall& call) { return RunUnary(call, scalar::CosOf{}); }
Status Cosh(KernelCall& call) { return RunUnary(call, scalar::CoshOf{}); }
Status Erf(KernelCall& call) { return RunUnary(call, scalar::ErfOf{}); }
Status Exp(KernelCall& call) { return RunUnary(call, ExpOf{}); }
Status Floor(KernelCall& call) { return RunUnary(call, scalar::FloorOf{}); }
Status Log(KernelCall& call) { return RunUnary(call, scalar::LogOf{}); }
Status Neg(KernelCall& call) { return RunUnary(call, scalar::NegOf{}); }
Status Reciprocal(KernelCall& call) { return RunUnary(call, scalar::ReciprocalOf{}); }
Status Round(KernelCall& call) { return RunUnary(call, scalar::RoundOf{}); }
Status Sigmoid(KernelCall& call) { return RunUnary(call, scalar::SigmoidOf{}); }
Status Sign(KernelCall& call) { return RunUnary(call, scalar::SignOf{}); }
Status Sin(KernelCall& call) { return RunUnary(call, scalar::SinOf{}); }
Status Sinh(KernelCall& call) { return RunUnary(call, scalar::SinhOf{}); }
Status Sqrt(KernelCall& call) { return RunUnary(call, scalar::SqrtOf{}); }
Status Tan(KernelCall& call) { return RunUnary(call, scalar::TanOf{}); }
Status Tanh(KernelCall& call) { return RunUnary(call, scalar::TanhOf{}); }

Status IsNan(KernelCall& call) { return RunUnary(call, scalar::IsNanOf{}); }
Status IsInf(KernelCall& call) {
  scalar::IsInfOf f;
  f.positive = call.attributes->Int("detect_positive", 1) != 0;
  f.negative = call.attributes->Int("detect_negative", 1) != 0;
  return RunUnary(call, f);
}

}  // namespace sbp::SBP_GPU_BUILD
