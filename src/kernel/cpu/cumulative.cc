// CumSum, CumProd: running folds of each line, in f64 for floats.
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/along_axis.h"
#include "kernel/convert.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/scalar/fold.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

template <typename A, typename F>
void Run(KernelCall& call, DType accumulated, int64_t axis) {
  constexpr F kF;
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  const bool exclusive = call.attributes->Int("exclusive", 0) != 0, reverse = call.attributes->Int("reverse", 0) != 0;
  const AxisLines lines(in.shape, axis);
  const int64_t in_bytes = ElementBytes(in.dtype), out_bytes = ElementBytes(out.dtype), size = lines.size;
  A* line = call.scratch->Allocate<A>(size);
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < lines.inner; ++i) {
      const int64_t first = o * size * lines.inner + i;
      Convert(in.dtype, in.data + first * in_bytes, lines.inner * in_bytes, accumulated,
              reinterpret_cast<std::byte*>(line), sizeof(A), size);
      A running = F::template Start<A>();
      for (int64_t step = 0; step < size; ++step) {
        A& cell = line[reverse ? size - 1 - step : step];
        const A next = kF(running, cell);
        cell = exclusive ? running : next;
        running = next;
      }
      Convert(accumulated, reinterpret_cast<const std::byte*>(line), sizeof(A), out.dtype, out.data + first * out_bytes,
              lines.inner * out_bytes, size);
    }
  }
}

template <typename F>
Status Cumulative(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  if (in.shape != call.outputs[0].shape) return Defect("the result's shape is not that of the operand");
  const std::vector<int64_t> given = IntsOf(call.inputs[1]);
  if (given.size() != 1) return RunFailed("axis must be one number");
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(given[0], in.rank()));
  if (in.elements() == 0) return OkStatus();
  const DType compute = ComputeType(in.dtype);
  if (IsComplex(compute)) return Defect("no kernel for this element type");
  if (compute == DType::kF32 || compute == DType::kF64)
    Run<double, F>(call, DType::kF64, axis);
  else
    Run<uint64_t, F>(call, DType::kU64, axis);
  return OkStatus();
}

}  // namespace

Status CumSum(KernelCall& call) { return Cumulative<scalar::SumFold>(call); }
Status CumProd(KernelCall& call) { return Cumulative<scalar::ProductFold>(call); }

}  // namespace sbp::cpu
