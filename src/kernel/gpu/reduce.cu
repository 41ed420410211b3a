// Reductions. Floats narrower than f64 are accumulated in f64 (sums and products) and rounded once.
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/fold_rows.h"
#include "kernel/convert.h"
#include "kernel/gpu/boxes.h"
#include "kernel/gpu/complex.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/walk.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/scalar/fold.h"
#include "kernel/view.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// The operand as rows (the dimensions that are kept) of elements (those that are reduced).
struct Rows {
  Walk<1> kept, reduced;
  bool side_by_side = false;
};
Result<Rows> RowsOf(const TensorView& in, const std::vector<bool>& reduced) {
  const std::vector<int64_t> strides = RowMajorStrides(in.shape);
  Shape shapes[2];
  std::array<std::vector<int64_t>, 1> steps[2];
  Rows rows;
  for (size_t d = 0; d < in.shape.size(); ++d) {
    shapes[reduced[d]].push_back(in.shape[d]);
    steps[reduced[d]][0].push_back(strides[d]);
    if (in.shape[d] != 1) rows.side_by_side = !reduced[d];
  }
  SBP_ASSIGN_OR_RETURN(rows.kept, MakeWalk<1>(shapes[0], steps[0]));
  SBP_ASSIGN_OR_RETURN(rows.reduced, MakeWalk<1>(shapes[1], steps[1]));
  return rows;
}

// A: accumulated in; X: as elements are loaded.
template <typename A, typename X, typename F>
struct FoldOne {
  using Value = A;
  Rows rows;
  DType type, out_type;
  const std::byte* in;
  std::byte* out;
  SBP_HD A Start() const { return F::template Start<A>(); }
  SBP_HD int64_t Base(int64_t row) const { return rows.kept(row); }
  SBP_HD A At(int64_t base, int64_t j) const { return static_cast<A>(LoadNumber<X>(type, in, base + rows.reduced(j))); }
  SBP_HD A Combine(A a, A b) const {
    const F f;
    return f(a, b);
  }
  SBP_HD void Store(int64_t row, A value) const { StoreNumber(out_type, out, row, value); }
};

template <typename A, typename X, typename F>
Status ReduceAs(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  std::vector<int64_t> axes;
  if (call.has(1)) {
    SBP_ASSIGN_OR_RETURN(axes, IntsOf(call, 1));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedDims(call, call.has(1) ? &axes : nullptr));
  SBP_ASSIGN_OR_RETURN(const Rows rows, RowsOf(in, reduced));
  if (rows.kept.elements != out.elements()) return Defect("the result's shape does not follow from the axes");
  return gpu::FoldRows(*call.stream, rows.kept.elements, rows.reduced.elements, rows.side_by_side,
                       FoldOne<A, X, F>{rows, in.dtype, out.dtype, in.data, out.data});
}

template <typename F, bool kWide>
Status Reduce(KernelCall& call) {
  switch (ComputeType(call.inputs[0].dtype)) {
    case DType::kF32:
      return ReduceAs<std::conditional_t<kWide, double, float>, float, F>(call);
    case DType::kF64:
      return ReduceAs<double, double, F>(call);
    case DType::kI64:
      return ReduceAs<int64_t, int64_t, F>(call);
    case DType::kU64:
      return ReduceAs<uint64_t, uint64_t, F>(call);
    default:
      if constexpr (F::kComplex) return ReduceAs<Complex<double>, Complex<double>, F>(call);
      return Defect("no kernel for this element type");
  }
}

// The largest or smallest value of an integer type for what nothing is folded into.
Status FillEmpty(KernelCall& call, ReduceKind kind) {
  TensorView& out = call.outputs[0];
  if (call.inputs[0].elements() > 0 || out.elements() == 0 || !(IsInteger(out.dtype) || out.dtype == DType::kBool))
    return OkStatus();
  return Movement().fill_neutral(*call.stream, out.dtype, kind, out.data, out.elements());
}

}  // namespace

Status ReduceSum(KernelCall& call) { return Reduce<scalar::SumFold, true>(call); }
Status ReduceProd(KernelCall& call) { return Reduce<scalar::ProductFold, true>(call); }
Status ReduceMax(KernelCall& call) {
  SBP_RETURN_IF_ERROR((Reduce<scalar::MaxFold, false>(call)));
  return FillEmpty(call, ReduceKind::kMax);
}
Status ReduceMin(KernelCall& call) {
  SBP_RETURN_IF_ERROR((Reduce<scalar::MinFold, false>(call)));
  return FillEmpty(call, ReduceKind::kMin);
}

}  // namespace sbp::SBP_GPU_BUILD
