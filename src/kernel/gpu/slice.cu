// Slice and Pad.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/copy.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/walk.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/slices.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

Status SliceBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SliceValues values;
  values.has_axes = call.has(3);
  values.has_steps = call.has(4);
  SBP_ASSIGN_OR_RETURN(values.starts, IntsOf(call, 1));
  SBP_ASSIGN_OR_RETURN(values.ends, IntsOf(call, 2));
  if (values.has_axes) {
    SBP_ASSIGN_OR_RETURN(values.axes, IntsOf(call, 3));
  }
  if (values.has_steps) {
    SBP_ASSIGN_OR_RETURN(values.steps, IntsOf(call, 4));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<SliceStep> steps, SliceSteps(in, values, out));
  if (out.elements() == 0) return OkStatus();
  const int64_t bytes = ElementBytes(in.dtype);
  const std::optional<HeldElements> held = FindHeld(in, steps, out);
  if (!held || held->shape != out.shape)
    SBP_RETURN_IF_ERROR(call.stream->Zero(out.data, out.elements() * ElementBytes(out.dtype)));
  if (!held) return OkStatus();
  std::vector<int64_t> strides = held->source_strides;
  for (int64_t& stride : strides) stride *= bytes;
  return CopyStrided(*call.stream, held->shape, bytes, in.data + held->source * bytes, strides,
                     out.data + held->target * bytes, ByteStrides(out));
}

enum class PadMode : uint8_t { kConstant, kEdge, kWrap, kReflect };

// One element of the result, by its index in every dimension.
template <typename T>
struct PadOne {
  PadMode mode;
  int rank;
  // Per dimension: the result's size; the operand's index, in the whole, under its index 0; the operand's whole size
  // and its part.
  int64_t size[kMostDims], first[kMostDims], whole[kMostDims], begin[kMostDims], held[kMostDims], stride[kMostDims];
  const std::byte* in;
  const std::byte* constant;  // one element; nullptr: 0
  std::byte* out;

  // The operand's index under index i of a dimension of n elements.
  SBP_HD int64_t Padded(int64_t i, int64_t n) const {
    if (mode == PadMode::kConstant || (i >= 0 && i < n)) return i;
    if (mode == PadMode::kEdge) return i < 0 ? 0 : n - 1;
    if (mode == PadMode::kWrap) return (i % n + n) % n;
    // Reflected about the first and the last element, again and again.
    if (n == 1) return 0;
    const int64_t period = 2 * (n - 1), j = (i % period + period) % period;
    return j < n ? j : period - j;
  }
  SBP_HD void operator()(int64_t i) const {
    int64_t rest = i, offset = 0;
    bool inside = true, here = true;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t next = Divide(rest, size[d]), index = Padded(first[d] + rest - next * size[d], whole[d]);
      rest = next;
      inside &= index >= 0 && index < whole[d];
      here &= index >= begin[d] && index < begin[d] + held[d];
      offset += (index - begin[d]) * stride[d];
    }
    if (inside)
      At<T>(out, i) = here ? At<T>(in, offset) : T{};
    else
      At<T>(out, i) = constant != nullptr ? At<T>(constant, 0) : T{};
  }
};

Status PadBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  PadValues values;
  values.has_axes = call.has(3);
  SBP_ASSIGN_OR_RETURN(values.pads, IntsOf(call, 1));
  if (values.has_axes) {
    SBP_ASSIGN_OR_RETURN(values.axes, IntsOf(call, 3));
  }
  const std::string mode = call.attributes->String("mode", "constant");
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> before, PadsBefore(in, values, mode == "constant", out));
  if (out.elements() == 0) return OkStatus();
  if (out.rank() > kMostDims) return RunFailed("more than 8 dimensions");
  const std::vector<int64_t> strides = RowMajorStrides(in.shape);
  return WithWord(ElementBytes(out.dtype), [&]<typename T>(T) {
    PadOne<T> pad{};
    pad.mode = mode == "constant" ? PadMode::kConstant
               : mode == "edge"   ? PadMode::kEdge
               : mode == "wrap"   ? PadMode::kWrap
                                  : PadMode::kReflect;
    pad.rank = out.rank();
    for (size_t d = 0; d < out.shape.size(); ++d) {
      pad.size[d] = out.shape[d];
      pad.first[d] = out.ranges[d].begin - before[d];
      pad.whole[d] = in.whole[d];
      pad.begin[d] = in.ranges[d].begin;
      pad.held[d] = in.shape[d];
      pad.stride[d] = strides[d];
    }
    pad.in = in.data;
    pad.out = out.data;
    pad.constant = call.has(2) && call.inputs[2].elements() > 0 ? call.inputs[2].data : nullptr;
    return gpu::ForEach(*call.stream, out.elements(), pad);
  });
}

}  // namespace

Status Slice(KernelCall& call) { return OnBytes(call, SliceBytes); }
Status Pad(KernelCall& call) { return OnBytes(call, PadBytes); }

}  // namespace sbp::SBP_GPU_BUILD
