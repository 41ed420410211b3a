// Conv, ConvInteger: per image and group, the windows as columns of a matrix and one product of matrices, a tile of
// output rows at a time; with one channel a group (depthwise), sums over the window directly.
#include <algorithm>
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/conv_sizes.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "kernel/window.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

constexpr int64_t kTileElements = 1 << 20;  // of the matrix of columns: enough that the product's own packing pays

// Output rows are lines of the last dimension. Writes, for rows [begin, end), one matrix row per channel and element of
// the window; columns are output elements.
template <typename T>
void WriteColumns(const ConvSizes& s, const T* in, int64_t begin, int64_t end, T* columns) {
  const auto& [wd, wh, ww] = s.window;
  for (int64_t c = 0; c < s.in_channels; ++c, in += s.in_size) {
    for (int64_t kd = 0; kd < wd.kernel; ++kd) {
      for (int64_t kh = 0; kh < wh.kernel; ++kh) {
        const Range planes = wd.OutputsOver(kd), lines = wh.OutputsOver(kh);
        for (int64_t kw = 0; kw < ww.kernel; ++kw) {
          const Range inside = ww.OutputsOver(kw);
          for (int64_t row = begin; row < end; ++row, columns += ww.out_held) {
            const int64_t d = row / wh.out_held, h = row % wh.out_held;
            const bool held = d >= planes.begin && d < planes.end && h >= lines.begin && h < lines.end;
            if (!held || inside.size() == 0) {
              std::fill(columns, columns + ww.out_held, T{0});
              continue;
            }
            const T* line = in + (wd.Under(d, kd) * wh.in_held + wh.Under(h, kh)) * ww.in_held;
            const T* from = line + ww.Under(inside.begin, kw);
            std::fill(columns, columns + inside.begin, T{0});
            if (ww.stride == 1) {
              std::copy(from, from + inside.size(), columns + inside.begin);
            } else {
              for (int64_t w = 0; w < inside.size(); ++w) columns[inside.begin + w] = from[w * ww.stride];
            }
            std::fill(columns + inside.end, columns + ww.out_held, T{0});
          }
        }
      }
    }
  }
}

// One channel: out += the window's sums over `in`.
template <typename T>
void AddDepthwise(const ConvSizes& s, const T* in, const T* weight, T* out) {
  const auto& [wd, wh, ww] = s.window;
  for (int64_t kd = 0; kd < wd.kernel; ++kd) {
    for (int64_t kh = 0; kh < wh.kernel; ++kh) {
      const Range planes = wd.OutputsOver(kd), lines = wh.OutputsOver(kh);
      for (int64_t kw = 0; kw < ww.kernel; ++kw) {
        const T factor = weight[(kd * wh.kernel + kh) * ww.kernel + kw];
        const Range inside = ww.OutputsOver(kw);
        if (inside.size() == 0) continue;
        for (int64_t d = planes.begin; d < planes.end; ++d) {
          for (int64_t h = lines.begin; h < lines.end; ++h) {
            const T* from =
                in + (wd.Under(d, kd) * wh.in_held + wh.Under(h, kh)) * ww.in_held + ww.Under(inside.begin, kw);
            T* to = out + (d * wh.out_held + h) * ww.out_held + inside.begin;
            if (ww.stride == 1) {
              for (int64_t w = 0; w < inside.size(); ++w) to[w] += factor * from[w];
            } else {
              for (int64_t w = 0; w < inside.size(); ++w) to[w] += factor * from[w * ww.stride];
            }
          }
        }
      }
    }
  }
}

// Is the matrix of columns the input itself?
bool IsPointwise(const ConvSizes& s) {
  return std::all_of(std::begin(s.window), std::end(s.window), [](const WindowAxis& d) {
    return d.kernel == 1 && d.stride == 1 && d.pad_low == 0 && d.in_held == d.out_held && d.Under(0, 0) == 0;
  });
}

// One group of one image; `out` holds the bias.
template <typename T>
void ConvolveGroup(const ConvSizes& s, DType type, const T* in, const T* weight, T* out, T* columns, int threads) {
  if (s.in_channels == 1 && s.out_channels <= 2) {
    for (int64_t m = 0; m < s.out_channels; ++m) AddDepthwise(s, in, weight + m * s.kernel_size, out + m * s.out_size);
    return;
  }
  const int64_t depth = s.in_channels * s.kernel_size;
  GemmShape gemm{s.out_channels, s.out_size, depth, depth, s.out_size, s.out_size};
  if (columns == nullptr) return Gemm(type, gemm, weight, in, out, true, threads);
  const int64_t width = s.window[2].out_held, rows = s.window[0].out_held * s.window[1].out_held;
  const int64_t tile = std::clamp<int64_t>(kTileElements / std::max<int64_t>(depth * width, 1), 1, rows);
  for (int64_t row = 0; row < rows; row += tile) {
    const int64_t end = std::min(rows, row + tile);
    WriteColumns(s, in, row, end, columns);
    gemm.n = gemm.ldb = (end - row) * width;
    Gemm(type, gemm, weight, columns, out + row * width, true, threads);
  }
}

template <typename T>
void Convolve(const ConvSizes& s, DType type, KernelCall& call) {
  const auto elements = [&](const TensorView& view) {
    return reinterpret_cast<const T*>(ElementsAs(view, type, *call.scratch));
  };
  TensorView& y = call.outputs[0];
  const T *x = elements(call.inputs[0]), *weight = elements(call.inputs[1]);
  const T* bias = call.has(2) ? elements(call.inputs[2]) : nullptr;
  std::byte* result = ResultAs(y, type, *call.scratch);
  T* out = reinterpret_cast<T*>(result);
  T* columns = nullptr;
  if (!IsPointwise(s)) {
    const int64_t row = s.in_channels * s.kernel_size * s.window[2].out_held;
    columns = call.scratch->Allocate<T>(std::max(row, kTileElements));
  }
  for (int64_t n = 0; n < y.shape[0]; ++n) {
    for (int64_t m = 0; m < y.shape[1]; ++m) {
      const int64_t at = (n * y.shape[1] + m) * s.out_size;
      std::fill(out + at, out + at + s.out_size, bias != nullptr ? bias[m] : T{0});
    }
    for (int64_t g = 0; g < s.groups; ++g) {
      ConvolveGroup(s, type, x + (n * s.groups + g) * s.in_channels * s.in_size,
                    weight + g * s.out_channels * s.in_channels * s.kernel_size,
                    out + (n * s.groups + g) * s.out_channels * s.out_size, columns, call.threads);
    }
  }
  FinishResult(result, type, y);
}

}  // namespace

Status Conv(KernelCall& call) {
  const TensorView& y = call.outputs[0];
  if (y.elements() == 0) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const ConvSizes s, ConvSizesOf(call));
  const DType type = GemmType(y.dtype);
  switch (type) {
    case DType::kF32:
      Convolve<float>(s, type, call);
      break;
    case DType::kF64:
      Convolve<double>(s, type, call);
      break;
    case DType::kU32:
      Convolve<uint32_t>(s, type, call);
      break;
    default:
      Convolve<uint64_t>(s, type, call);
  }
  return OkStatus();
}

namespace {

// The elements in 32 bits, less the zero point: none, one, or one per index of dimension 0.
TensorView LessZeroPoint(const TensorView& view, const TensorView& zero, Scratch& scratch) {
  TensorView wide = view;
  wide.dtype = DType::kI32;
  wide.data = scratch.Allocate(wide.bytes());
  auto* out = wide.as<int32_t>();
  const auto convert = [](const TensorView& from, int32_t* to) {
    Convert(from.dtype, from.data, ElementBytes(from.dtype), DType::kI32, reinterpret_cast<std::byte*>(to),
            sizeof(int32_t), from.elements());
  };
  convert(view, out);
  const int64_t count = zero.present() ? zero.elements() : 0;
  if (count == 0 || view.elements() == 0) return wide;
  auto* zeros = scratch.Allocate<int32_t>(count);
  convert(zero, zeros);
  // Held for the same indices as the elements, or for all.
  const int64_t first = count == 1 ? 0 : view.ranges[0].begin - zero.ranges[0].begin;
  const int64_t line = view.elements() / view.shape[0];
  for (int64_t n = 0; n < view.shape[0]; ++n, out += line) {
    const int32_t shift = zeros[count == 1 ? 0 : first + n];
    for (int64_t i = 0; i < line; ++i) out[i] -= shift;
  }
  return wide;
}

}  // namespace

Status ConvInteger(KernelCall& call) {
  KernelCall plain = call;
  const TensorView none;
  plain.inputs = {LessZeroPoint(call.inputs[0], call.has(2) ? call.inputs[2] : none, *call.scratch),
                  LessZeroPoint(call.inputs[1], call.has(3) ? call.inputs[3] : none, *call.scratch)};
  return Conv(plain);
}

}  // namespace sbp::cpu
