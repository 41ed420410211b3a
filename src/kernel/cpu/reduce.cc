// Reductions: every element is folded into the accumulator of its result, in the order of the operand. Floats narrower
// than f64 are accumulated in f64 (sums and products) and rounded once.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/kernels.h"
#include "kernel/cpu/loop.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/scalar/fold.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

// Folds a line of X into accumulators A: into one (step 0), or each into its own.
template <typename A, typename X, typename F>
void FoldLine(std::byte* const* data, const int64_t* strides, int64_t n, void*) {
  constexpr F kF;
  auto* acc = reinterpret_cast<A*>(data[0]);
  if (strides[0] != 0) {
    if (strides[0] == sizeof(A) && strides[1] == sizeof(X)) {
      const auto* in = reinterpret_cast<const X*>(data[1]);
      for (int64_t i = 0; i < n; ++i) acc[i] = kF(acc[i], static_cast<A>(in[i]));
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      A& cell = *reinterpret_cast<A*>(data[0] + i * strides[0]);
      cell = kF(cell, static_cast<A>(*reinterpret_cast<const X*>(data[1] + i * strides[1])));
    }
    return;
  }
  // Several accumulators, so that additions need not wait for each other.
  constexpr int64_t kLanes = 8;
  int64_t i = 0;
  if (strides[1] == sizeof(X) && n >= 2 * kLanes) {
    const auto* in = reinterpret_cast<const X*>(data[1]);
    A lanes[kLanes];
    for (A& lane : lanes) lane = F::template Start<A>();
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] = kF(lanes[j], static_cast<A>(in[i + j]));
    }
    for (const A& lane : lanes) *acc = kF(*acc, lane);
  }
  for (; i < n; ++i) *acc = kF(*acc, static_cast<A>(*reinterpret_cast<const X*>(data[1] + i * strides[1])));
}

// A: accumulated in, of type `accumulated`; X: as elements are seen, of type `seen`.
template <typename A, typename X, typename F>
Status ReduceAs(KernelCall& call, DType accumulated, DType seen) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  std::vector<int64_t> axes;
  if (call.has(1)) axes = IntsOf(call.inputs[1]);
  SBP_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedDims(call, call.has(1) ? &axes : nullptr));
  std::vector<int64_t> strides(in.shape.size(), 0);
  int64_t count = 1;
  for (size_t d = in.shape.size(); d-- > 0;) {
    if (reduced[d]) continue;
    strides[d] = count * static_cast<int64_t>(sizeof(A));
    count *= in.shape[d];
  }
  if (count != out.elements()) return Defect("the result's shape does not follow from the axes");
  A* accumulators = call.scratch->Allocate<A>(count);
  std::fill(accumulators, accumulators + count, F::template Start<A>());
  StridedLoop loop(in.shape);
  loop.AddStrided(reinterpret_cast<std::byte*>(accumulators), strides, sizeof(A));
  SBP_RETURN_IF_ERROR(loop.Add(in, seen));
  loop.Run(FoldLine<A, X, F>, nullptr);
  Convert(accumulated, reinterpret_cast<const std::byte*>(accumulators), sizeof(A), out.dtype, out.data,
          ElementBytes(out.dtype), count);
  return OkStatus();
}

template <typename F, bool kWide>
Status Reduce(KernelCall& call) {
  const DType compute = ComputeType(call.inputs[0].dtype);
  switch (compute) {
    case DType::kF32:
      if constexpr (kWide) return ReduceAs<double, float, F>(call, DType::kF64, DType::kF32);
      return ReduceAs<float, float, F>(call, DType::kF32, DType::kF32);
    case DType::kF64:
      return ReduceAs<double, double, F>(call, DType::kF64, DType::kF64);
    case DType::kI64:
      return ReduceAs<int64_t, int64_t, F>(call, DType::kI64, DType::kI64);
    case DType::kU64:
      return ReduceAs<uint64_t, uint64_t, F>(call, DType::kU64, DType::kU64);
    default:
      if constexpr (F::kComplex) {
        using Complex = std::complex<double>;
        return ReduceAs<Complex, Complex, F>(call, DType::kC128, DType::kC128);
      }
      return Defect("no kernel for this element type");
  }
}

// The largest or smallest value of an integer type narrower than i64 for what nothing is folded into.
Status FillEmpty(KernelCall& call, bool highest) {
  TensorView& out = call.outputs[0];
  if (call.inputs[0].elements() > 0 || out.elements() == 0 || !(IsInteger(out.dtype) || out.dtype == DType::kBool))
    return OkStatus();
  const int bits = DTypeBits(out.dtype);
  uint64_t limit = highest ? ~uint64_t{0} : 0;
  if (out.dtype == DType::kBool)
    limit = highest ? 1 : 0;
  else if (IsSigned(out.dtype))
    limit = highest ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} << (bits - 1);
  for (int64_t i = 0; i < out.elements(); ++i)
    Convert(DType::kU64, reinterpret_cast<const std::byte*>(&limit), 8, out.dtype, out.data + i * bits / 8, 8, 1);
  return OkStatus();
}

}  // namespace

Status ReduceSum(KernelCall& call) { return Reduce<scalar::SumFold, true>(call); }
Status ReduceProd(KernelCall& call) { return Reduce<scalar::ProductFold, true>(call); }
Status ReduceMax(KernelCall& call) {
  SBP_RETURN_IF_ERROR((Reduce<scalar::MaxFold, false>(call)));
  return FillEmpty(call, false);
}
Status ReduceMin(KernelCall& call) {
  SBP_RETURN_IF_ERROR((Reduce<scalar::MinFold, false>(call)));
  return FillEmpty(call, true);
}

}  // namespace sbp::cpu
