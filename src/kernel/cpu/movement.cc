// Data movement: each element of the result is one of an operand, under another index.
#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/kernels.h"
#include "kernel/cpu/loop.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/stretch.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

Status TransposeBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, TransposedStrides(call));
  CopyStrided(out.shape, ElementBytes(in.dtype), in.data, strides, out.data, ByteStrides(out));
  return OkStatus();
}

Status ExpandBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ExpandedStrides(call));
  CopyStrided(out.shape, ElementBytes(in.dtype), in.data, strides, out.data, ByteStrides(out));
  return OkStatus();
}

Status ConcatBytes(KernelCall& call) {
  TensorView& out = call.outputs[0];
  return WalkConcatenation(call, [&out](const TensorView& in, int64_t offset) {
    CopyStrided(in.shape, ElementBytes(in.dtype), in.data, ByteStrides(in), out.data + offset, ByteStrides(out));
    return OkStatus();
  });
}

// The condition picks from two values; all three stretched.
template <typename T>
void WhereLine(std::byte* const* data, const int64_t* strides, int64_t n, void*) {
  for (int64_t i = 0; i < n; ++i) {
    const bool first = data[1][i * strides[1]] != std::byte{0};
    // Both are read, so that the choice is no branch.
    const T x = *reinterpret_cast<const T*>(data[2] + i * strides[2]);
    const T y = *reinterpret_cast<const T*>(data[3] + i * strides[3]);
    *reinterpret_cast<T*>(data[0] + i * strides[0]) = first ? x : y;
  }
}

Status WhereBytes(KernelCall& call) {
  TensorView& out = call.outputs[0];
  StridedLoop loop(out.shape);
  SBP_RETURN_IF_ERROR(loop.Add(out, out.dtype));
  for (size_t i = 0; i < 3; ++i) SBP_RETURN_IF_ERROR(loop.Add(call.inputs[i], call.inputs[i].dtype));
  InnerLoop line = WhereLine<uint8_t>;
  switch (ElementBytes(out.dtype)) {
    case 2:
      line = WhereLine<uint16_t>;
      break;
    case 4:
      line = WhereLine<uint32_t>;
      break;
    case 8:
      line = WhereLine<uint64_t>;
      break;
    case 16:
      line = WhereLine<std::complex<double>>;
      break;
    default:
      break;
  }
  loop.Run(line, nullptr);
  return OkStatus();
}

Status ConstantBytes(KernelCall& call) {
  TensorView& out = call.outputs[0];
  std::byte element[16];
  ConstantElement(call, out.dtype, element);
  Fill(out.data, out.elements(), element, ElementBytes(out.dtype));
  return OkStatus();
}

}  // namespace

Status Reshape(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  if (in.elements() != out.elements()) {
    return RunFailed(StrCat("[", Join(in.shape, ","), "] and [", Join(out.shape, ","), "] differ in their elements"));
  }
  if (in.data != out.data && in.elements() > 0) std::memcpy(out.data, in.data, static_cast<size_t>(in.bytes()));
  return OkStatus();
}

Status Transpose(KernelCall& call) { return OnBytes(call, TransposeBytes); }
Status Expand(KernelCall& call) { return OnBytes(call, ExpandBytes); }
Status Concat(KernelCall& call) { return OnBytes(call, ConcatBytes); }
Status Where(KernelCall& call) { return OnBytes(call, WhereBytes); }
Status ConstantOfShape(KernelCall& call) { return OnBytes(call, ConstantBytes); }

}  // namespace sbp::cpu
