// Random sources and Range: results that come from numbers and places only.
#include <bit>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/walk.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/range_count.h"
#include "kernel/scalar/random.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// The number at a place depends on the key and the place in the whole tensor only: base + scale * what is drawn.
struct Draw {
  bool normal;
  uint64_t key;
  double base, scale;
  DType type;
  std::byte* out;
  int64_t first;  // place of the part's first element
  Walk<1> places;
  SBP_HD void operator()(int64_t i) const {
    const auto place = static_cast<uint64_t>(first + places(i));
    const double drawn = normal ? scalar::Normal(key, place) : scalar::Uniform(key, place, type);
    StoreNumber(type, out, i, base + scale * drawn);
  }
};

Status Random(KernelCall& call, bool normal, double base, double scale) {
  TensorView& out = call.outputs[0];
  // A seed of the op's own goes before the run's.
  const bool own = call.attributes->Find("seed") != nullptr;
  Draw draw{normal,    own ? std::bit_cast<uint64_t>(call.attributes->Float("seed", 0)) : call.seed,
            base,      scale,
            out.dtype, out.data};
  const std::vector<int64_t> strides = RowMajorStrides(out.whole);
  draw.first = 0;
  for (size_t d = 0; d < strides.size(); ++d) draw.first += out.ranges[d].begin * strides[d];
  SBP_ASSIGN_OR_RETURN(draw.places, MakeWalk<1>(out.shape, {strides}));
  return gpu::ForEach(*call.stream, out.elements(), draw);
}

template <typename T>
struct CountUp {
  T start, delta;
  int64_t begin;
  DType type;
  std::byte* out;
  SBP_HD void operator()(int64_t i) const { StoreAs(type, out, i, RangeElement(start, delta, begin + i)); }
};

template <typename T>
Status CountFrom(KernelCall& call, const std::vector<T>& start, const std::vector<T>& limit,
                 const std::vector<T>& delta) {
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1) return RunFailed("Range needs single numbers");
  if (delta[0] == 0) return RunFailed("the delta of Range is 0");
  TensorView& out = call.outputs[0];
  const int64_t count = RangeCount(start[0], limit[0], delta[0]);
  if (count != out.whole[0]) {
    if (out.shape[0] != out.whole[0] || count > out.shape[0])
      return RunFailed("the range is not of the size that was planned");
    SetSize(out, 0, count);
  }
  return gpu::ForEach(*call.stream, out.shape[0],
                      CountUp<T>{start[0], delta[0], out.ranges[0].begin, out.dtype, out.data});
}

}  // namespace

Status RandomNormal(KernelCall& call) {
  return Random(call, true, call.attributes->Float("mean", 0), call.attributes->Float("scale", 1));
}
Status RandomUniform(KernelCall& call) {
  const double low = call.attributes->Float("low", 0), high = call.attributes->Float("high", 1);
  return Random(call, false, low, high - low);
}

Status Iota(KernelCall& call) {
  if (IsFloat(call.inputs[0].dtype)) {
    SBP_ASSIGN_OR_RETURN(const std::vector<double> start, NumbersOf(call, 0));
    SBP_ASSIGN_OR_RETURN(const std::vector<double> limit, NumbersOf(call, 1));
    SBP_ASSIGN_OR_RETURN(const std::vector<double> delta, NumbersOf(call, 2));
    return CountFrom(call, start, limit, delta);
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> start, IntsOf(call, 0));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> limit, IntsOf(call, 1));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> delta, IntsOf(call, 2));
  return CountFrom(call, start, limit, delta);
}

}  // namespace sbp::SBP_GPU_BUILD
