// Range: results that come from numbers and places only.
#include <algorithm>
#include <cmath>

#include "kernel/cpu/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/kernels.h"
#include "kernel/scalar/integer.h"

namespace sbp::cpu {
namespace {

template <typename T>
void ReadScalars(const KernelCall& call, DType type, T (&values)[3]) {
  for (int i = 0; i < 3; ++i) {
    const TensorView& in = call.inputs[i];
    Convert(in.dtype, in.data, ElementBytes(in.dtype), type, reinterpret_cast<std::byte*>(&values[i]), sizeof(T), 1);
  }
}

// How many elements start, start + delta, ... lie before limit.
int64_t Count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  return count > 0 ? static_cast<int64_t>(std::min(count, 0x1p62)) : 0;
}
int64_t Count(int64_t start, int64_t limit, int64_t delta) {
  const bool none = delta > 0 ? limit <= start : limit >= start;
  if (none) return 0;
  const uint64_t span = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  return static_cast<int64_t>((span - 1) / step + 1);
}

double Element(double start, double delta, int64_t i) { return start + static_cast<double>(i) * delta; }
int64_t Element(int64_t start, int64_t delta, int64_t i) { return scalar::WrapAdd(start, scalar::WrapMul(i, delta)); }

template <typename T>
Status Count(KernelCall& call, DType type) {
  T numbers[3];
  ReadScalars(call, type, numbers);
  const auto [start, limit, delta] = numbers;
  if (delta == 0) return RunFailed("the delta of Range is 0");
  TensorView& out = call.outputs[0];
  const int64_t count = Count(start, limit, delta);
  if (count != out.whole[0]) {
    if (out.shape[0] != out.whole[0] || count > out.shape[0])
      return RunFailed("the range is not of the size that was planned");
    SetSize(out, 0, count);
  }
  const int64_t bytes = ElementBytes(out.dtype);
  for (int64_t i = 0; i < out.shape[0]; ++i) {
    const T value = Element(start, delta, out.ranges[0].begin + i);
    Convert(type, reinterpret_cast<const std::byte*>(&value), sizeof(T), out.dtype, out.data + i * bytes, bytes, 1);
  }
  return OkStatus();
}

}  // namespace

Status Iota(KernelCall& call) {
  return IsFloat(call.inputs[0].dtype) ? Count<double>(call, DType::kF64) : Count<int64_t>(call, DType::kI64);
}

}  // namespace sbp::cpu
