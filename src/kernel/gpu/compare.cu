// Comparisons, logic and bits.
#include <cstdint>
#include <utility>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/gpu/elementwise.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/walk.h"
#include "kernel/kernel.h"
#include "kernel/scalar/binary.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

template <typename F>
Status Compare(KernelCall& call) {
  return RunBinary(call, F{}, call.inputs[0], call.inputs[1]);
}

// Bits of any integer, or of bool's 0 and 1: in 64 bits nothing is lost before the result is cut to its width.
template <typename F>
Status Bits(KernelCall& call, const F& f = {}) {
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  SBP_ASSIGN_OR_RETURN(const Walk<2> walk, BinaryWalk(a, b, call.outputs[0]));
  return RunBinaryOne<uint64_t>(*call.stream, f, a, b, call.outputs[0], walk);
}

struct NotOf {
  SBP_HD bool operator()(uint64_t x) const { return x == 0; }
};
struct ComplementOf {
  SBP_HD uint64_t operator()(uint64_t x) const { return ~x; }
};

template <typename F>
Status UnaryBits(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(auto strides, StretchedStrides(in, out.shape));
  SBP_ASSIGN_OR_RETURN(const Walk<1> walk, MakeWalk<1>(out.shape, {std::move(strides)}));
  return gpu::ForEach(*call.stream, walk.elements,
                      UnaryOne<uint64_t, F>{{}, in.dtype, out.dtype, in.data, out.data, walk});
}

}  // namespace

Status And(KernelCall& call) { return Bits<scalar::BitAnd>(call); }
Status Or(KernelCall& call) { return Bits<scalar::BitOr>(call); }
Status Xor(KernelCall& call) { return Bits<scalar::BitXor>(call); }
Status BitwiseAnd(KernelCall& call) { return Bits<scalar::BitAnd>(call); }
Status BitwiseOr(KernelCall& call) { return Bits<scalar::BitOr>(call); }
Status BitwiseXor(KernelCall& call) { return Bits<scalar::BitXor>(call); }
Status Not(KernelCall& call) { return UnaryBits<NotOf>(call); }
Status BitwiseNot(KernelCall& call) { return UnaryBits<ComplementOf>(call); }
Status BitShift(KernelCall& call) {
  scalar::BitShiftOf f;
  f.left = call.attributes->String("direction", "LEFT") != "RIGHT";
  f.is_signed = IsSigned(call.inputs[0].dtype);
  f.bits = static_cast<uint64_t>(DTypeBits(call.inputs[0].dtype));
  return Bits(call, f);
}

Status Equal(KernelCall& call) { return Compare<scalar::EqualTo>(call); }
Status Greater(KernelCall& call) { return Compare<scalar::GreaterThan>(call); }
Status GreaterOrEqual(KernelCall& call) { return Compare<scalar::GreaterOrEqual>(call); }
Status Less(KernelCall& call) { return Compare<scalar::LessThan>(call); }
Status LessOrEqual(KernelCall& call) { return Compare<scalar::LessOrEqual>(call); }

}  // namespace sbp::SBP_GPU_BUILD
