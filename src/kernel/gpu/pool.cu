// MaxPool, AveragePool, LpPool: each result from the elements under its window.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "kernel/window.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// Index: of an element of the result.
struct Pooled {
  WindowAxis window[3];
  DType type;  // of operand and result
  const std::byte* in;
  std::byte* out;  // nullptr: not wanted

  struct Place {
    int64_t plane, at[3];
  };
  SBP_HD Place PlaceOf(int64_t i) const {
    Place place{};
    for (int d = 2; d >= 0; --d) {
      const int64_t next = Divide(i, window[d].out_held);
      place.at[d] = i - next * window[d].out_held;
      i = next;
    }
    place.plane = i;
    return place;
  }
  // Calls visit(offset into the plane) for the elements under one window that lie inside.
  template <typename Visit>
  SBP_HD void Under(const Place& place, const Visit& visit) const {
    const auto &wd = window[0], &wh = window[1], &ww = window[2];
    const Range kd = wd.Inside(place.at[0]), kh = wh.Inside(place.at[1]), kw = ww.Inside(place.at[2]);
    for (int64_t i = kd.begin; i < kd.end; ++i) {
      for (int64_t j = kh.begin; j < kh.end; ++j) {
        const int64_t line = wd.Under(place.at[0], i) * wh.in_held + wh.Under(place.at[1], j);
        int64_t at = line * ww.in_held + ww.Under(place.at[2], kw.begin);
        for (int64_t k = kw.begin; k < kw.end; ++k, at += ww.dilation) visit(at);
      }
    }
  }
  SBP_HD int64_t PlaneElements() const { return window[0].in_held * window[1].in_held * window[2].in_held; }
};

template <typename T>
struct MaxUnder {
  Pooled pool;
  int64_t* places;  // nullptr: not wanted
  int64_t channels, first_image, first_channel, whole_channels;
  bool column_major;

  // Of the element at `at` in plane `plane` of the part, its place in the whole operand.
  SBP_HD int64_t PlaceInWhole(int64_t plane, int64_t at) const {
    const auto &wd = pool.window[0], &wh = pool.window[1], &ww = pool.window[2];
    const int64_t n = plane / channels + first_image, c = plane % channels + first_channel;
    const int64_t w = at % ww.in_held + ww.in_begin, h = at / ww.in_held % wh.in_held + wh.in_begin;
    const int64_t d = at / (ww.in_held * wh.in_held) + wd.in_begin;
    const int64_t within =
        column_major ? d + wd.in_whole * (h + wh.in_whole * w) : (d * wh.in_whole + h) * ww.in_whole + w;
    return (n * whole_channels + c) * wd.in_whole * wh.in_whole * ww.in_whole + within;
  }
  SBP_HD void operator()(int64_t i) const {
    const auto place = pool.PlaceOf(i);
    const int64_t first = place.plane * pool.PlaneElements();
    T best = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    int64_t best_at = -1;
    pool.Under(place, [&](int64_t at) {
      const T v = LoadNumber<T>(pool.type, pool.in, first + at);
      if (best_at >= 0 && !(v > best) && v == v) return;
      if (best != best) return;  // the first NaN stays
      best = v;
      best_at = at;
    });
    if (pool.out != nullptr) StoreNumber(pool.type, pool.out, i, best);
    if (places != nullptr) places[i] = best_at < 0 ? 0 : PlaceInWhole(place.plane, best_at);
  }
};

template <typename T>
struct AverageUnder {
  Pooled pool;
  bool padded;
  SBP_HD void operator()(int64_t i) const {
    const auto place = pool.PlaceOf(i);
    const int64_t first = place.plane * pool.PlaneElements();
    double sum = 0;
    pool.Under(place, [&](int64_t at) { sum += static_cast<double>(LoadNumber<T>(pool.type, pool.in, first + at)); });
    int64_t count = 1;
    for (int d = 0; d < 3; ++d) {
      const Range inside = pool.window[d].Inside(place.at[d]);
      count *= padded ? pool.window[d].PaddedCount(place.at[d]) : inside.end - inside.begin;
    }
    StoreNumber(pool.type, pool.out, i, static_cast<T>(sum / static_cast<double>(count)));
  }
};

// (sum |x|^p)^(1/p).
template <typename T>
struct NormUnder {
  Pooled pool;
  double p;
  SBP_HD void operator()(int64_t i) const {
    const auto place = pool.PlaceOf(i);
    const int64_t first = place.plane * pool.PlaneElements();
    double sum = 0;
    pool.Under(place, [&](int64_t at) {
      const double v = std::fabs(static_cast<double>(LoadNumber<T>(pool.type, pool.in, first + at)));
      sum += p == 1 ? v : p == 2 ? v * v : std::pow(v, p);
    });
    const double norm = p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
    StoreNumber(pool.type, pool.out, i, static_cast<T>(norm));
  }
};

Result<Pooled> PooledOf(const KernelCall& call) {
  const auto* kernel = call.attributes->Ints("kernel_shape");
  if (kernel == nullptr) return RunFailed("kernel_shape is missing");
  SBP_ASSIGN_OR_RETURN(const Window window, WindowOf(call, *kernel));
  Pooled pooled{{window[0], window[1], window[2]},
                call.inputs[0].dtype,
                call.inputs[0].data,
                call.wants(0) ? call.outputs[0].data : nullptr};
  return pooled;
}

template <typename T>
Status MaxOver(KernelCall& call, const Pooled& pool) {
  const TensorView& x = call.inputs[0];
  MaxUnder<T> f{pool, call.wants(1) ? call.outputs[1].as<int64_t>() : nullptr};
  f.channels = x.shape[1];
  f.first_image = x.ranges[0].begin;
  f.first_channel = x.ranges[1].begin;
  f.whole_channels = x.whole[1];
  f.column_major = call.attributes->Int("storage_order", 0) != 0;
  return gpu::ForEach(*call.stream, call.outputs[call.wants(0) ? 0 : 1].elements(), f);
}

}  // namespace

Status MaxPool(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const Pooled pool, PooledOf(call));
  switch (ComputeType(pool.type)) {
    case DType::kF32:
      return MaxOver<float>(call, pool);
    case DType::kF64:
      return MaxOver<double>(call, pool);
    case DType::kU64:
      return MaxOver<uint64_t>(call, pool);
    default:
      return MaxOver<int64_t>(call, pool);
  }
}

Status AveragePool(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const Pooled pool, PooledOf(call));
  const bool padded = call.attributes->Int("count_include_pad", 0) != 0;
  const int64_t n = call.outputs[0].elements();
  if (pool.type == DType::kF64) return gpu::ForEach(*call.stream, n, AverageUnder<double>{pool, padded});
  return gpu::ForEach(*call.stream, n, AverageUnder<float>{pool, padded});
}

Status LpPool(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const Pooled pool, PooledOf(call));
  const auto p = static_cast<double>(call.attributes->Int("p", 2));
  const int64_t n = call.outputs[0].elements();
  if (pool.type == DType::kF64) return gpu::ForEach(*call.stream, n, NormUnder<double>{pool, p});
  return gpu::ForEach(*call.stream, n, NormUnder<float>{pool, p});
}

}  // namespace sbp::SBP_GPU_BUILD
