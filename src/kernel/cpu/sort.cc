// TopK and NonZero.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/along_axis.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/indices.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/scalar/order.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

// The first k of each line's order; of equal elements the lower index comes first.
template <typename T>
void TopOf(const T* in, const AxisLines& lines, int64_t k, bool largest, T* values, int64_t* places) {
  std::vector<int64_t> order(static_cast<size_t>(lines.size));
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < lines.inner; ++i) {
      const T* line = in + o * lines.size * lines.inner + i;
      std::iota(order.begin(), order.end(), int64_t{0});
      const auto before = [&](int64_t a, int64_t b) {
        const T x = line[a * lines.inner], y = line[b * lines.inner];
        const bool less = largest ? scalar::Before(y, x) : scalar::Before(x, y);
        const bool more = largest ? scalar::Before(x, y) : scalar::Before(y, x);
        return less || (!more && a < b);
      };
      std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
      for (int64_t j = 0; j < k; ++j) {
        const int64_t at = (o * k + j) * lines.inner + i;
        values[at] = line[order[j] * lines.inner];
        places[at] = order[j];
      }
    }
  }
}

template <typename T>
void RunTopK(KernelCall& call, DType type, const AxisLines& lines, int64_t k) {
  const int64_t n = lines.outer * k * lines.inner;
  const T* in = reinterpret_cast<const T*>(ElementsAs(call.inputs[0], type, *call.scratch));
  T* values = call.scratch->Allocate<T>(n);
  auto* places = call.scratch->Allocate<int64_t>(n);
  TopOf(in, lines, k, call.attributes->Int("largest", 1) != 0, values, places);
  if (call.wants(0)) FinishResult(reinterpret_cast<const std::byte*>(values), type, call.outputs[0]);
  if (call.wants(1)) FinishResult(reinterpret_cast<const std::byte*>(places), DType::kI64, call.outputs[1]);
}

}  // namespace

Status TopK(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", -1), in.rank()));
  const std::vector<int64_t> wanted = IntsOf(call.inputs[1]);
  const AxisLines lines(in.shape, axis);
  SBP_RETURN_IF_ERROR(SizeOfTopK(wanted, axis, call));
  const DType type = ComputeType(in.dtype);
  if (type == DType::kF32)
    RunTopK<float>(call, type, lines, wanted[0]);
  else if (type == DType::kF64)
    RunTopK<double>(call, type, lines, wanted[0]);
  else if (type == DType::kU64)
    RunTopK<uint64_t>(call, type, lines, wanted[0]);
  else
    RunTopK<int64_t>(call, type, lines, wanted[0]);
  return OkStatus();
}

Status NonZero(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  const int64_t n = in.elements();
  auto* nonzero = call.scratch->Allocate<uint8_t>(n);
  Convert(in.dtype, in.data, ElementBytes(in.dtype), DType::kBool, reinterpret_cast<std::byte*>(nonzero), 1, n);
  const int64_t count = std::count(nonzero, nonzero + n, 1);
  if (count > out.shape[1]) return RunFailed("more elements are not 0 than there is room for");
  SetSize(out, 1, count);
  auto* places = out.as<int64_t>();
  IndexWalk walk(in.shape);
  for (int64_t i = 0, found = 0; i < n; ++i, walk.Next()) {
    if (nonzero[i] == 0) continue;
    for (size_t d = 0; d < in.shape.size(); ++d)
      places[static_cast<int64_t>(d) * count + found] = walk.index()[d] + in.ranges[d].begin;
    ++found;
  }
  return OkStatus();
}

}  // namespace sbp::cpu
