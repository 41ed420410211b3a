// Comparisons, logic and bits: results depend on the order, or the bits, of the operands.
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/kernels.h"
#include "kernel/cpu/loop.h"
#include "kernel/kernel.h"
#include "kernel/scalar/binary.h"

namespace sbp::cpu {
namespace {

template <typename F>
Status Compare(KernelCall& call) {
  F f;
  const DType compute = ComputeType(call.inputs[0].dtype);
  return RunElementwise(call.outputs[0], {&call.inputs[0], &call.inputs[1]}, compute, DType::kBool,
                        BinaryLineFor<F>(compute), &f);
}

// Bits of any integer, or of bool's 0 and 1, in the stored width.
template <typename F>
Status Bits(KernelCall& call) {
  F f;
  const DType type = call.inputs[0].dtype;
  InnerLoop line = nullptr;
  switch (DTypeBits(type)) {
    case 8:
      line = BinaryLine<uint8_t, F>;
      break;
    case 16:
      line = BinaryLine<uint16_t, F>;
      break;
    case 32:
      line = BinaryLine<uint32_t, F>;
      break;
    default:
      line = BinaryLine<uint64_t, F>;
  }
  return RunElementwise(call.outputs[0], {&call.inputs[0], &call.inputs[1]}, type, type, line, &f);
}

struct NotOf {
  uint8_t operator()(uint8_t x) const { return x == 0; }
};
struct ComplementOf {
  uint64_t operator()(uint64_t x) const { return ~x; }
};

}  // namespace

Status And(KernelCall& call) { return Bits<scalar::BitAnd>(call); }
Status Or(KernelCall& call) { return Bits<scalar::BitOr>(call); }
Status Xor(KernelCall& call) { return Bits<scalar::BitXor>(call); }
Status BitwiseAnd(KernelCall& call) { return Bits<scalar::BitAnd>(call); }
Status BitwiseOr(KernelCall& call) { return Bits<scalar::BitOr>(call); }
Status BitwiseXor(KernelCall& call) { return Bits<scalar::BitXor>(call); }

Status Not(KernelCall& call) {
  NotOf f;
  return RunElementwise(call.outputs[0], {&call.inputs[0]}, DType::kBool, DType::kBool, UnaryLine<uint8_t, NotOf>, &f);
}
Status BitwiseNot(KernelCall& call) {
  ComplementOf f;
  return RunElementwise(call.outputs[0], {&call.inputs[0]}, DType::kU64, DType::kU64, UnaryLine<uint64_t, ComplementOf>,
                        &f);
}
Status BitShift(KernelCall& call) {
  scalar::BitShiftOf f;
  f.left = call.attributes->String("direction", "LEFT") != "RIGHT";
  f.is_signed = IsSigned(call.inputs[0].dtype);
  f.bits = static_cast<uint64_t>(DTypeBits(call.inputs[0].dtype));
  return RunElementwise(call.outputs[0], {&call.inputs[0], &call.inputs[1]}, DType::kU64, DType::kU64,
                        BinaryLine<uint64_t, scalar::BitShiftOf>, &f);
}

Status Equal(KernelCall& call) { return Compare<scalar::EqualTo>(call); }
Status Greater(KernelCall& call) { return Compare<scalar::GreaterThan>(call); }
Status GreaterOrEqual(KernelCall& call) { return Compare<scalar::GreaterOrEqual>(call); }
Status Less(KernelCall& call) { return Compare<scalar::LessThan>(call); }
Status LessOrEqual(KernelCall& call) { return Compare<scalar::LessOrEqual>(call); }

}  // namespace sbp::cpu
