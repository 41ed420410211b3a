// Data movement: each element of the result is one of an operand, under another index.
#include <array>

#include "base/host_device.h"
#include "base/text.h"
#include "gpu/for_each.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "kernel/convert.h"
#include "kernel/gpu/copy.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/walk.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/stretch.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

Status TransposeBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, TransposedStrides(call));
  return CopyStrided(*call.stream, out.shape, ElementBytes(in.dtype), in.data, strides, out.data, ByteStrides(out));
}

Status ExpandBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ExpandedStrides(call));
  return CopyStrided(*call.stream, out.shape, ElementBytes(in.dtype), in.data, strides, out.data, ByteStrides(out));
}

Status ConcatBytes(KernelCall& call) {
  TensorView& out = call.outputs[0];
  return WalkConcatenation(call, [&call, &out](const TensorView& in, int64_t offset) {
    return CopyStrided(*call.stream, in.shape, ElementBytes(in.dtype), in.data, ByteStrides(in), out.data + offset,
                       ByteStrides(out));
  });
}

// The condition picks from two values; all three stretched.
template <typename T>
struct Pick {
  const std::byte *condition, *x, *y;
  std::byte* out;
  Walk<3> walk;
  SBP_HD void operator()(int64_t i) const {
    const auto offsets = walk.At(i);
    const bool first = condition[offsets.at[0]] != std::byte{0};
    At<T>(out, i) = first ? At<T>(x, offsets.at[1]) : At<T>(y, offsets.at[2]);
  }
};

Status WhereBytes(KernelCall& call) {
  TensorView& out = call.outputs[0];
  std::array<std::vector<int64_t>, 3> strides;
  for (size_t i = 0; i < 3; ++i) {
    SBP_ASSIGN_OR_RETURN(strides[i], StretchedStrides(call.inputs[i], out.shape));
  }
  SBP_ASSIGN_OR_RETURN(const Walk<3> walk, MakeWalk<3>(out.shape, strides));
  return WithWord(ElementBytes(out.dtype), [&]<typename T>(T) {
    const Pick<T> pick{call.inputs[0].data, call.inputs[1].data, call.inputs[2].data, out.data, walk};
    return gpu::ForEach(*call.stream, walk.elements, pick);
  });
}

Status ConstantBytes(KernelCall& call) {
  TensorView& out = call.outputs[0];
  std::byte element[16];
  ConstantElement(call, out.dtype, element);
  return Fill(*call.stream, out.data, out.elements(), element, ElementBytes(out.dtype));
}

}  // namespace

Status Reshape(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  if (in.elements() != out.elements()) {
    return RunFailed(StrCat("[", Join(in.shape, ","), "] and [", Join(out.shape, ","), "] differ in their elements"));
  }
  return in.data == out.data ? OkStatus() : call.stream->Copy(in.data, out.data, in.bytes());
}

Status Transpose(KernelCall& call) { return OnBytes(call, TransposeBytes); }
Status Expand(KernelCall& call) { return OnBytes(call, ExpandBytes); }
Status Concat(KernelCall& call) { return OnBytes(call, ConcatBytes); }
Status Where(KernelCall& call) { return OnBytes(call, WhereBytes); }
Status ConstantOfShape(KernelCall& call) { return OnBytes(call, ConstantBytes); }

}  // namespace sbp::SBP_GPU_BUILD
