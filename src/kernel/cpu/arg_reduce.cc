// ArgMax, ArgMin: the place of the best element of each line; of equal ones the first, or the last where asked for. NaN
// is better than any number.
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/along_axis.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

template <typename T>
void BestPlaces(const T* in, const AxisLines& lines, bool largest, bool last, int64_t begin, int64_t* out) {
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < lines.inner; ++i) {
      const T* line = in + o * lines.size * lines.inner + i;
      int64_t best = 0;
      T value = line[0];
      for (int64_t j = 1; j < lines.size; ++j) {
        const T v = line[j * lines.inner];
        const bool nan = v != v, best_nan = value != value;
        const bool better = best_nan ? false : nan || (largest ? v > value : v < value);
        const bool equal = nan ? best_nan : v == value;
        if (better || (last && equal)) {
          best = j;
          value = v;
        }
      }
      *out++ = best + begin;
    }
  }
}

Status ArgReduce(KernelCall& call, bool largest) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), in.rank()));
  const bool last = call.attributes->Int("select_last_index", 0) != 0;
  const AxisLines lines(in.shape, axis);
  if (out.elements() != lines.outer * lines.inner) return Defect("the result's shape does not follow from the axis");
  if (out.elements() > 0 && lines.size == 0) return RunFailed("there is no largest or smallest of no elements");
  if (out.elements() == 0) return OkStatus();
  const DType compute = ComputeType(in.dtype);
  const std::byte* elements = ElementsAs(in, compute, *call.scratch);
  const int64_t begin = in.ranges[axis].begin;
  auto* places = call.scratch->Allocate<int64_t>(out.elements());
  if (compute == DType::kF32)
    BestPlaces(reinterpret_cast<const float*>(elements), lines, largest, last, begin, places);
  else if (compute == DType::kF64)
    BestPlaces(reinterpret_cast<const double*>(elements), lines, largest, last, begin, places);
  else if (compute == DType::kU64)
    BestPlaces(reinterpret_cast<const uint64_t*>(elements), lines, largest, last, begin, places);
  else
    BestPlaces(reinterpret_cast<const int64_t*>(elements), lines, largest, last, begin, places);
  FinishResult(reinterpret_cast<const std::byte*>(places), DType::kI64, out);
  return OkStatus();
}

}  // namespace

Status ArgMax(KernelCall& call) { return ArgReduce(call, true); }
Status ArgMin(KernelCall& call) { return ArgReduce(call, false); }

}  // namespace sbp::cpu
