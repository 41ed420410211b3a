// Cast, BitCast, and conversions on the way of other kernels.
#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/minifloat.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/complex.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/vectors.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// By way of Wide, which holds every value of `from`.
template <typename Wide>
struct ConvertOne {
  DType from, to;
  const std::byte* source;
  std::byte* target;
  Rounding rounding;
  SBP_HD void operator()(int64_t i) const { StoreAs(to, target, i, LoadAs<Wide>(from, source, i), rounding); }
};

struct ComplexToComplex {
  DType from, to;
  const std::byte* source;
  std::byte* target;
  SBP_HD void operator()(int64_t i) const { StoreNumber(to, target, i, LoadNumber<Complex<double>>(from, source, i)); }
};
struct ComplexToBool {
  DType from;
  const std::byte* source;
  std::byte* target;
  SBP_HD void operator()(int64_t i) const {
    const auto v = LoadNumber<Complex<double>>(from, source, i);
    At<uint8_t>(target, i) = v.re != 0 || v.im != 0;
  }
};

struct Same {
  template <typename T>
  SBP_HD T operator()(T x) const {
    return x;
  }
};

template <typename From, typename To>
Status ConvertFast(gpu::Stream& stream, const std::byte* source, std::byte* target, int64_t n) {
  return RunUnaryVector<From, To>(stream, Same{}, source, target, n);
}

// The pairs that mixed precision converts all the time.
template <typename Run>
bool WithFastPair(DType from, DType to, const Run& run) {
  const auto is = [&](DType a, DType b) { return from == a && to == b; };
  using enum DType;
  if (is(kF32, kF16)) return run(float{}, Half{});
  if (is(kF32, kBF16)) return run(float{}, Brain{});
  if (is(kF16, kF32)) return run(Half{}, float{});
  if (is(kBF16, kF32)) return run(Brain{}, float{});
  return false;
}

Status ConvertWith(gpu::Stream& stream, DType from, const std::byte* source, DType to, std::byte* target, int64_t n,
                   const Rounding& rounding) {
  if (n == 0) return OkStatus();
  if (from == to) return stream.Copy(source, target, n * ElementBytes(from));
  Status status;
  const bool fast = WithFastPair(from, to, [&]<typename From, typename To>(From, To) {
    status = ConvertFast<From, To>(stream, source, target, n);
    return true;
  });
  if (fast) return status;
  if (IsComplex(from) && IsComplex(to)) return gpu::ForEach(stream, n, ComplexToComplex{from, to, source, target});
  if (IsComplex(from) && to == DType::kBool) return gpu::ForEach(stream, n, ComplexToBool{from, source, target});
  if (from == DType::kF64 || IsComplex(from))
    return gpu::ForEach(stream, n, ConvertOne<double>{from, to, source, target, rounding});
  if (from == DType::kU64) return gpu::ForEach(stream, n, ConvertOne<uint64_t>{from, to, source, target, rounding});
  if (IsFloat(from)) return gpu::ForEach(stream, n, ConvertOne<float>{from, to, source, target, rounding});
  return gpu::ForEach(stream, n, ConvertOne<int64_t>{from, to, source, target, rounding});
}

Status CastBytes(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  if (in.elements() != out.elements()) return Defect("operand and result differ in their elements");
  Rounding rounding;
  rounding.saturate = call.attributes->Int("saturate", 1) != 0;
  const std::string mode = call.attributes->String("round_mode", "up");
  rounding.scale = mode == "down"      ? ScaleRounding::kDown
                   : mode == "nearest" ? ScaleRounding::kNearest
                                       : ScaleRounding::kUp;
  return ConvertWith(*call.stream, in.dtype, in.data, out.dtype, out.data, in.elements(), rounding);
}

}  // namespace

Status Convert(gpu::Stream& stream, DType from, const std::byte* source, DType to, std::byte* target, int64_t n) {
  return ConvertWith(stream, from, source, to, target, n, {});
}

Status Cast(KernelCall& call) { return OnBytes(call, CastBytes); }

// The packed bytes themselves: types of one width pack alike.
Status BitCast(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  if (in.bytes() != out.bytes()) return Defect("operand and result differ in their bytes");
  return call.stream->Copy(in.data, out.data, in.bytes());
}

}  // namespace sbp::SBP_GPU_BUILD
