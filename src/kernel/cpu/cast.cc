#include <cstring>
#include <string>

#include "base/minifloat.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

Status CastBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  if (in.elements() != out.elements()) return Defect("operand and result differ in their elements");
  ConvertOptions options;
  options.saturate = call.attributes->Int("saturate", 1) != 0;
  const std::string mode = call.attributes->String("round_mode", "up");
  options.scale_rounding = mode == "down"      ? ScaleRounding::kDown
                           : mode == "nearest" ? ScaleRounding::kNearest
                                               : ScaleRounding::kUp;
  Convert(in.dtype, in.data, ElementBytes(in.dtype), out.dtype, out.data, ElementBytes(out.dtype), in.elements(),
          options);
  return OkStatus();
}

}  // namespace

Status Cast(KernelCall& call) { return OnBytes(call, CastBytes); }

// The packed bytes themselves: types of one width pack alike.
Status BitCast(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  if (in.bytes() != out.bytes()) return Defect("operand and result differ in their bytes");
  if (in.elements() > 0) std::memcpy(out.data, in.data, static_cast<size_t>(in.bytes()));
  return OkStatus();
}

}  // namespace sbp::cpu
