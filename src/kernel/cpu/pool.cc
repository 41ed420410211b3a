// MaxPool, AveragePool, LpPool: each result from the elements under its window.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "kernel/window.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

// Calls visit(offset into the plane) for the elements under one window that lie inside.
template <typename F>
void Visit(const Window& window, int64_t d, int64_t h, int64_t w, F visit) {
  const auto& [wd, wh, ww] = window;
  const Range kd = wd.Inside(d), kh = wh.Inside(h), kw = ww.Inside(w);
  for (int64_t i = kd.begin; i < kd.end; ++i) {
    for (int64_t j = kh.begin; j < kh.end; ++j) {
      int64_t at = (wd.Under(d, i) * wh.in_held + wh.Under(h, j)) * ww.in_held + ww.Under(w, kw.begin);
      for (int64_t k = kw.begin; k < kw.end; ++k, at += ww.dilation) visit(at);
    }
  }
}

// The plane's elements of a part, and their place in the whole operand.
struct Place {
  const TensorView& in;
  const Window& window;
  bool column_major;
  // Of the element at `at` in plane `plane` of the part.
  int64_t operator()(int64_t plane, int64_t at) const {
    const auto& [wd, wh, ww] = window;
    const int64_t n = plane / in.shape[1] + in.ranges[0].begin, c = plane % in.shape[1] + in.ranges[1].begin;
    const int64_t w = at % ww.in_held + ww.in_begin, h = at / ww.in_held % wh.in_held + wh.in_begin;
    const int64_t d = at / (ww.in_held * wh.in_held) + wd.in_begin;
    const int64_t within =
        column_major ? d + wd.in_whole * (h + wh.in_whole * w) : (d * wh.in_whole + h) * ww.in_whole + w;
    return (n * in.whole[1] + c) * wd.in_whole * wh.in_whole * ww.in_whole + within;
  }
};

template <typename T>
void MaxOver(const Window& window, KernelCall& call, DType type) {
  const TensorView& x = call.inputs[0];
  const bool wants_values = call.wants(0);
  TensorView& y = wants_values ? call.outputs[0] : call.outputs[1];
  const T* in = reinterpret_cast<const T*>(ElementsAs(x, type, *call.scratch));
  std::byte* result = wants_values ? ResultAs(y, type, *call.scratch) : nullptr;
  T* out = reinterpret_cast<T*>(result);
  int64_t* places = call.wants(1) ? call.outputs[1].as<int64_t>() : nullptr;
  const Place place{x, window, call.attributes->Int("storage_order", 0) != 0};
  const auto& [wd, wh, ww] = window;
  const int64_t in_plane = wd.in_held * wh.in_held * ww.in_held;
  const T lowest = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  for (int64_t plane = 0; plane < y.shape[0] * y.shape[1]; ++plane, in += in_plane) {
    for (int64_t d = 0; d < wd.out_held; ++d) {
      for (int64_t h = 0; h < wh.out_held; ++h) {
        for (int64_t w = 0; w < ww.out_held; ++w) {
          T best = lowest;
          int64_t best_at = -1;
          Visit(window, d, h, w, [&](int64_t at) {
            const T v = in[at];
            if (best_at >= 0 && !(v > best) && v == v) return;
            if (best != best) return;  // the first NaN stays
            best = v;
            best_at = at;
          });
          if (out != nullptr) *out++ = best;
          if (places != nullptr) *places++ = best_at < 0 ? 0 : place(plane, best_at);
        }
      }
    }
  }
  if (wants_values) FinishResult(result, type, y);
}

template <typename T>
void AverageOver(const Window& window, KernelCall& call, DType type) {
  TensorView& y = call.outputs[0];
  const T* in = reinterpret_cast<const T*>(ElementsAs(call.inputs[0], type, *call.scratch));
  std::byte* result = ResultAs(y, type, *call.scratch);
  T* out = reinterpret_cast<T*>(result);
  const bool padded = call.attributes->Int("count_include_pad", 0) != 0;
  const auto& [wd, wh, ww] = window;
  const int64_t in_plane = wd.in_held * wh.in_held * ww.in_held;
  for (int64_t plane = 0; plane < y.shape[0] * y.shape[1]; ++plane, in += in_plane) {
    for (int64_t d = 0; d < wd.out_held; ++d) {
      for (int64_t h = 0; h < wh.out_held; ++h) {
        for (int64_t w = 0; w < ww.out_held; ++w) {
          double sum = 0;
          Visit(window, d, h, w, [&](int64_t at) { sum += static_cast<double>(in[at]); });
          const int64_t count = padded ? wd.PaddedCount(d) * wh.PaddedCount(h) * ww.PaddedCount(w)
                                       : wd.Inside(d).size() * wh.Inside(h).size() * ww.Inside(w).size();
          *out++ = static_cast<T>(sum / static_cast<double>(count));
        }
      }
    }
  }
  FinishResult(result, type, y);
}

// (sum |x|^p)^(1/p).
template <typename T>
void NormOver(const Window& window, KernelCall& call, DType type) {
  TensorView& y = call.outputs[0];
  const T* in = reinterpret_cast<const T*>(ElementsAs(call.inputs[0], type, *call.scratch));
  std::byte* result = ResultAs(y, type, *call.scratch);
  T* out = reinterpret_cast<T*>(result);
  const auto p = static_cast<double>(call.attributes->Int("p", 2));
  const auto& [wd, wh, ww] = window;
  const int64_t in_plane = wd.in_held * wh.in_held * ww.in_held;
  for (int64_t plane = 0; plane < y.shape[0] * y.shape[1]; ++plane, in += in_plane) {
    for (int64_t d = 0; d < wd.out_held; ++d) {
      for (int64_t h = 0; h < wh.out_held; ++h) {
        for (int64_t w = 0; w < ww.out_held; ++w) {
          double sum = 0;
          Visit(window, d, h, w, [&](int64_t at) {
            const double v = std::abs(static_cast<double>(in[at]));
            sum += p == 1 ? v : p == 2 ? v * v : std::pow(v, p);
          });
          *out++ = static_cast<T>(p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p));
        }
      }
    }
  }
  FinishResult(result, type, y);
}

Result<Window> PoolWindow(const KernelCall& call) {
  const auto* kernel = call.attributes->Ints("kernel_shape");
  if (kernel == nullptr) return RunFailed("kernel_shape is missing");
  return WindowOf(call, *kernel);
}

}  // namespace

Status MaxPool(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  const DType type = ComputeType(call.inputs[0].dtype);
  if (type == DType::kF32)
    MaxOver<float>(window, call, type);
  else if (type == DType::kF64)
    MaxOver<double>(window, call, type);
  else if (type == DType::kU64)
    MaxOver<uint64_t>(window, call, type);
  else
    MaxOver<int64_t>(window, call, type);
  return OkStatus();
}

Status AveragePool(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  if (ComputeType(call.inputs[0].dtype) == DType::kF64)
    AverageOver<double>(window, call, DType::kF64);
  else
    AverageOver<float>(window, call, DType::kF32);
  return OkStatus();
}

Status LpPool(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  if (ComputeType(call.inputs[0].dtype) == DType::kF64)
    NormOver<double>(window, call, DType::kF64);
  else
    NormOver<float>(window, call, DType::kF32);
  return OkStatus();
}

}  // namespace sbp::cpu
