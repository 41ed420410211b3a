// ConvTranspose: per image and group one product of matrices, whose rows (an output channel and an element of the
// window each) are added to the result under their windows.
#include <algorithm>
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/conv_sizes.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "kernel/window.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

// Adds one row, an element per operand place, to the result's plane; the part of the result takes what it holds.
template <typename T>
void AddRow(const WindowAxis (&window)[3], int64_t kd, int64_t kh, int64_t kw, const T* row, T* out) {
  const auto& [wd, wh, ww] = window;
  for (int64_t d = 0; d < wd.out_held; ++d) {
    const int64_t od = wd.Under(d, kd);
    for (int64_t h = 0; h < wh.out_held; ++h, row += ww.out_held) {
      const int64_t oh = wh.Under(h, kh);
      if (od < 0 || od >= wd.in_held || oh < 0 || oh >= wh.in_held) continue;
      T* line = out + (od * wh.in_held + oh) * ww.in_held;
      for (int64_t w = 0; w < ww.out_held; ++w) {
        const int64_t ow = ww.Under(w, kw);
        if (ow >= 0 && ow < ww.in_held) line[ow] += row[w];
      }
    }
  }
}

template <typename T>
void Run(const ConvSizes& s, DType type, KernelCall& call) {
  const TensorView& x = call.inputs[0];
  TensorView& y = call.outputs[0];
  const auto* in = reinterpret_cast<const T*>(ElementsAs(x, type, *call.scratch));
  const std::byte* weight = ElementsAs(call.inputs[1], type, *call.scratch);
  const T* bias = call.has(2) ? reinterpret_cast<const T*>(ElementsAs(call.inputs[2], type, *call.scratch)) : nullptr;
  std::byte* result = ResultAs(y, type, *call.scratch);
  T* out = reinterpret_cast<T*>(result);
  const int64_t rows = s.out_channels * s.kernel_size;
  // Each group's weights (in channels, rows) transposed.
  T* turned = call.scratch->Allocate<T>(s.groups * rows * s.in_channels);
  const int64_t size = sizeof(T);
  CopyStrided({s.groups, rows, s.in_channels}, size, weight, {rows * s.in_channels * size, size, rows * size},
              reinterpret_cast<std::byte*>(turned), {rows * s.in_channels * size, s.in_channels * size, size});
  T* columns = call.scratch->Allocate<T>(rows * s.in_size);
  const GemmShape gemm{rows, s.in_size, s.in_channels, s.in_channels, s.in_size, s.in_size};
  for (int64_t n = 0; n < y.shape[0]; ++n) {
    for (int64_t m = 0; m < y.shape[1]; ++m) {
      const int64_t at = (n * y.shape[1] + m) * s.out_size;
      std::fill(out + at, out + at + s.out_size, bias != nullptr ? bias[m] : T{0});
    }
    for (int64_t g = 0; g < s.groups; ++g) {
      Gemm(type, gemm, turned + g * rows * s.in_channels, in + (n * s.groups + g) * s.in_channels * s.in_size, columns,
           false, call.threads);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t k = r % s.kernel_size, kw = k % s.window[2].kernel,
                      kh = k / s.window[2].kernel % s.window[1].kernel;
        T* plane = out + ((n * s.groups + g) * s.out_channels + r / s.kernel_size) * s.out_size;
        AddRow(s.window, k / (s.window[2].kernel * s.window[1].kernel), kh, kw, columns + r * s.in_size, plane);
      }
    }
  }
  FinishResult(result, type, y);
}

}  // namespace

Status ConvTranspose(KernelCall& call) {
  const TensorView& y = call.outputs[0];
  if (y.elements() == 0) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const ConvSizes s, TransposedConvSizesOf(call));
  const DType type = GemmType(y.dtype);
  if (type == DType::kF32)
    Run<float>(s, type, call);
  else if (type == DType::kF64)
    Run<double>(s, type, call);
  else
    return Defect("no kernel for this element type");
  return OkStatus();
}

}  // namespace sbp::cpu
