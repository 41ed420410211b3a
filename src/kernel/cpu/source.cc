// Range: results that come from numbers and places only.
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/range_count.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

template <typename T>
void ReadScalars(const KernelCall& call, DType type, T (&values)[3]) {
  for (int i = 0; i < 3; ++i) {
    const TensorView& in = call.inputs[i];
    Convert(in.dtype, in.data, ElementBytes(in.dtype), type, reinterpret_cast<std::byte*>(&values[i]), sizeof(T), 1);
  }
}

template <typename T>
Status Count(KernelCall& call, DType type) {
  T numbers[3];
  ReadScalars(call, type, numbers);
  const auto [start, limit, delta] = numbers;
  if (delta == 0) return RunFailed("the delta of Range is 0");
  TensorView& out = call.outputs[0];
  const int64_t count = RangeCount(start, limit, delta);
  if (count != out.whole[0]) {
    if (out.shape[0] != out.whole[0] || count > out.shape[0])
      return RunFailed("the range is not of the size that was planned");
    SetSize(out, 0, count);
  }
  const int64_t bytes = ElementBytes(out.dtype);
  for (int64_t i = 0; i < out.shape[0]; ++i) {
    const T value = RangeElement(start, delta, out.ranges[0].begin + i);
    Convert(type, reinterpret_cast<const std::byte*>(&value), sizeof(T), out.dtype, out.data + i * bytes, bytes, 1);
  }
  return OkStatus();
}

}  // namespace

Status Iota(KernelCall& call) {
  return IsFloat(call.inputs[0].dtype) ? Count<double>(call, DType::kF64) : Count<int64_t>(call, DType::kI64);
}

}  // namespace sbp::cpu
