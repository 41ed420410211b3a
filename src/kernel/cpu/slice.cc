// Slice and Pad: the result's index i along a dimension reads the operand's index start + i * step; what lies outside
// of the whole is padding, and what the part does not hold is 0.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/slices.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

// Copies the elements that the operand's part holds; the rest of the result is left.
void CopyHeld(const TensorView& in, const std::vector<SliceStep>& steps, TensorView& out) {
  const std::optional<HeldElements> held = FindHeld(in, steps, out);
  if (!held) return;
  const int64_t bytes = ElementBytes(in.dtype);
  std::vector<int64_t> strides = held->source_strides;
  for (int64_t& stride : strides) stride *= bytes;
  CopyStrided(held->shape, bytes, in.data + held->source * bytes, strides, out.data + held->target * bytes,
              ByteStrides(out));
}

Status SliceBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SliceValues values{IntsOf(call.inputs[1]), IntsOf(call.inputs[2])};
  values.has_axes = call.has(3);
  values.has_steps = call.has(4);
  if (values.has_axes) values.axes = IntsOf(call.inputs[3]);
  if (values.has_steps) values.steps = IntsOf(call.inputs[4]);
  SBP_ASSIGN_OR_RETURN(const std::vector<SliceStep> steps, SliceSteps(in, values, out));
  if (out.elements() == 0) return OkStatus();
  std::memset(out.data, 0, static_cast<size_t>(out.elements() * ElementBytes(out.dtype)));
  CopyHeld(in, steps, out);
  return OkStatus();
}

// The operand's index under index i of a dimension of n elements that is padded by other means than a constant.
int64_t PaddedIndex(const std::string& mode, int64_t i, int64_t n) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, n - 1);
  if (mode == "wrap") return (i % n + n) % n;
  // Reflected about the first and the last element, again and again.
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), j = (i % period + period) % period;
  return j < n ? j : period - j;
}

// Every element by the tables of its indices: padding of these kinds is rare and small.
void PadByIndex(const TensorView& in, const std::vector<int64_t>& before, const std::string& mode, TensorView& out) {
  std::vector<std::vector<int64_t>> offsets(out.shape.size());  // per dimension and local index, in bytes; -1: not held
  const std::vector<int64_t> from = ByteStrides(in);
  for (size_t d = 0; d < out.shape.size(); ++d) {
    for (int64_t i = 0; i < out.shape[d]; ++i) {
      const int64_t source = PaddedIndex(mode, out.ranges[d].begin + i - before[d], in.whole[d]);
      const bool held = source >= in.ranges[d].begin && source < in.ranges[d].end;
      offsets[d].push_back(held ? (source - in.ranges[d].begin) * from[d] : -1);
    }
  }
  const int64_t bytes = ElementBytes(in.dtype), n = out.elements();
  std::vector<int64_t> index(out.shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    int64_t offset = 0;
    bool held = true;
    for (size_t d = 0; d < index.size(); ++d) {
      held &= offsets[d][index[d]] >= 0;
      offset += offsets[d][index[d]];
    }
    if (held)
      std::memcpy(out.data + i * bytes, in.data + offset, static_cast<size_t>(bytes));
    else
      std::memset(out.data + i * bytes, 0, static_cast<size_t>(bytes));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < out.shape[d]) break;
      index[d] = 0;
    }
  }
}

// The constant wherever the result lies outside of the operand's whole; 0 where only this part does not hold it.
void PadConstant(const TensorView& in, const std::vector<int64_t>& before, const std::byte* constant, TensorView& out) {
  const int64_t bytes = ElementBytes(out.dtype);
  Fill(out.data, out.elements(), constant, bytes);
  Shape inside(out.shape.size());
  const std::vector<int64_t> strides = ByteStrides(out);
  std::byte* target = out.data;
  for (size_t d = 0; d < inside.size(); ++d) {
    const int64_t first = out.ranges[d].begin - before[d];  // operand's index under the first element
    const int64_t low = std::clamp<int64_t>(-first, 0, out.shape[d]);
    inside[d] = std::clamp<int64_t>(in.whole[d] - first, low, out.shape[d]) - low;
    target += low * strides[d];
  }
  const std::byte zero[16] = {};
  CopyStrided(inside, bytes, zero, std::vector<int64_t>(inside.size(), 0), target, strides);
  std::vector<SliceStep> steps(before.size());
  for (size_t d = 0; d < before.size(); ++d) steps[d].start = -before[d];
  CopyHeld(in, steps, out);
}

Status PadBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  PadValues values{IntsOf(call.inputs[1])};
  values.has_axes = call.has(3);
  if (values.has_axes) values.axes = IntsOf(call.inputs[3]);
  const std::string mode = call.attributes->String("mode", "constant");
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> before, PadsBefore(in, values, mode == "constant", out));
  if (out.elements() == 0) return OkStatus();
  std::byte constant[16] = {};
  if (call.has(2) && call.inputs[2].elements() > 0)
    std::memcpy(constant, call.inputs[2].data, static_cast<size_t>(ElementBytes(out.dtype)));
  if (mode == "constant")
    PadConstant(in, before, constant, out);
  else
    PadByIndex(in, before, mode, out);
  return OkStatus();
}

}  // namespace

Status Slice(KernelCall& call) { return OnBytes(call, SliceBytes); }
Status Pad(KernelCall& call) { return OnBytes(call, PadBytes); }

}  // namespace sbp::cpu
