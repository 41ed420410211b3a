// Conv, ConvInteger and ConvTranspose.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "gpu/gpu.h"
#include "kernel/conv_sizes.h"
#include "kernel/convert.h"
#include "kernel/gpu/copy.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "kernel/window.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// A zero point: none, one, or one per index of the operand's dimension 0, from `first` on.
struct ZeroPoint {
  DType type;
  const std::byte* data;  // nullptr: none
  bool one;
  int64_t first;
  SBP_HD uint64_t At(int64_t i) const {
    if (data == nullptr) return 0;
    return static_cast<uint64_t>(LoadInteger(type, data, one ? 0 : first + i));
  }
};
ZeroPoint ZeroPointOf(const KernelCall& call, size_t i, const TensorView& of) {
  if (!call.has(i) || call.inputs[i].elements() == 0 || of.elements() == 0) return {};
  const TensorView& zero = call.inputs[i];
  return {zero.dtype, zero.data, zero.elements() == 1,
          zero.elements() == 1 ? 0 : of.ranges[0].begin - zero.ranges[0].begin};
}

// Any type: one thread a sum. C: what is computed in; zero points of integers.
template <typename C>
struct Convolve {
  ConvSizes s;
  DType x_type, w_type, y_type;
  const std::byte *x, *w;
  std::byte* y;
  ZeroPoint x_zero, w_zero;

  SBP_HD C Factor(DType type, const std::byte* data, int64_t i, const ZeroPoint& zero, int64_t index) const {
    const C value = LoadNumber<C>(type, data, i);
    if constexpr (std::is_integral_v<C>)
      return value - zero.At(index);
    else
      return value;
  }
  SBP_HD void operator()(int64_t i) const {
    const auto &wd = s.window[0], &wh = s.window[1], &ww = s.window[2];
    const int64_t plane = Divide(i, s.out_size), o = i - plane * s.out_size;
    const int64_t m = plane % (s.groups * s.out_channels), n = plane / (s.groups * s.out_channels);
    const int64_t od = o / (wh.out_held * ww.out_held), oh = o / ww.out_held % wh.out_held, ow = o % ww.out_held;
    const Range kd = wd.Inside(od), kh = wh.Inside(oh), kw = ww.Inside(ow);
    C sum{0};
    for (int64_t c = 0; c < s.in_channels; ++c) {
      const int64_t image = (n * s.groups + m / s.out_channels) * s.in_channels + c;
      for (int64_t a = kd.begin; a < kd.end; ++a) {
        for (int64_t b = kh.begin; b < kh.end; ++b) {
          const int64_t line = (image * wd.in_held + wd.Under(od, a)) * wh.in_held + wh.Under(oh, b);
          const int64_t weights = (((m * s.in_channels + c) * wd.kernel + a) * wh.kernel + b) * ww.kernel;
          for (int64_t k = kw.begin; k < kw.end; ++k)
            sum += Factor(x_type, x, line * ww.in_held + ww.Under(ow, k), x_zero, n) *
                   Factor(w_type, w, weights + k, w_zero, m);
        }
      }
    }
    StoreNumber(y_type, y, i, sum);
  }
};

template <typename C>
Status ConvolvePlainly(KernelCall& call, const ConvSizes& s, const ZeroPoint& x_zero, const ZeroPoint& w_zero) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
  const Convolve<C> f{s, x.dtype, w.dtype, y.dtype, x.data, w.data, y.data, x_zero, w_zero};
  return gpu::ForEach(*call.stream, y.elements(), f);
}

// How many zeros the windows need before the part of a dimension; negative: elements that they do not look at.
int64_t PadBegin(const WindowAxis& d) { return -d.Under(0, 0); }
// What the windows span.
int64_t Spanned(const WindowAxis& d) { return (d.out_held - 1) * d.stride + (d.kernel - 1) * d.dilation + 1; }

// The part of the operand as the windows span it: what they look at, with zeros around it.
Status PadPart(KernelCall& call, const ConvSizes& s, gpu::ConvCall& conv) {
  const TensorView& x = call.inputs[0];
  const int64_t bytes = ElementBytes(x.dtype);
  const size_t spatial = x.shape.size() - 2;
  Shape copied = x.shape;
  conv.x_shape = x.shape;
  for (size_t d = 0; d < spatial; ++d) conv.x_shape[d + 2] = Spanned(s.window[3 - spatial + d]);
  std::vector<int64_t> from = RowMajorStrides(x.shape), to = RowMajorStrides(conv.x_shape);
  const int64_t n = CountFrom(conv.x_shape, 0) * bytes;
  SBP_ASSIGN_OR_RETURN(std::byte * padded, call.stream->Scratch(n));
  SBP_RETURN_IF_ERROR(call.stream->Zero(padded, n));
  const std::byte* source = x.data;
  std::byte* target = padded;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    from[d] *= bytes;
    to[d] *= bytes;
    if (d < 2) continue;
    const int64_t pad = PadBegin(s.window[1 - spatial + d]), low = std::max<int64_t>(pad, 0);
    copied[d] = std::max<int64_t>(0, std::min(conv.x_shape[d], pad + x.shape[d]) - low);
    source += (low - pad) * from[d];
    target += low * to[d];
    conv.pads_begin[d - 2] = 0;
  }
  conv.x = padded;
  return CopyStrided(*call.stream, copied, bytes, source, from, target, to);
}

// By the library; where it wants equal pads at both ends, of a padded copy. false: it does not know this one.
Result<bool> ConvolveInLibrary(KernelCall& call, const ConvSizes& s) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
  if (x.elements() == 0 || w.elements() == 0 || x.rank() < 3 || w.dtype != x.dtype || y.dtype != x.dtype) return false;
  gpu::ConvCall conv;
  conv.dtype = x.dtype;
  conv.allow_tf32 = call.allow_tf32;
  conv.groups = s.groups;
  conv.x_shape = x.shape;
  conv.w_shape = w.shape;
  conv.y_shape = y.shape;
  bool cuts = false;
  for (size_t d = 5 - x.shape.size(); d < 3; ++d) {
    conv.strides.push_back(s.window[d].stride);
    conv.dilations.push_back(s.window[d].dilation);
    conv.pads_begin.push_back(PadBegin(s.window[d]));
    cuts |= conv.pads_begin.back() < 0;
  }
  conv.x = x.data;
  conv.w = w.data;
  conv.y = y.data;
  if (!cuts) {
    SBP_ASSIGN_OR_RETURN(const bool done, call.stream->Conv(conv));
    if (done) return true;
  }
  SBP_RETURN_IF_ERROR(PadPart(call, s, conv));
  return call.stream->Conv(conv);
}

template <typename C>
struct AddBias {
  DType type, bias_type;
  int64_t size, channels;  // elements of a plane
  const std::byte* bias;
  std::byte* y;
  SBP_HD void operator()(int64_t i) const {
    const int64_t channel = Divide(i, size) % channels;
    StoreNumber(type, y, i, static_cast<C>(LoadNumber<C>(type, y, i) + LoadNumber<C>(bias_type, bias, channel)));
  }
};

// run(number) of the type that elements are multiplied in.
template <typename Run>
Status WithFactor(DType type, const Run& run) {
  switch (ComputeType(type)) {
    case DType::kF32:
      return run(float{});
    case DType::kF64:
      return run(double{});
    default:
      return run(uint64_t{});
  }
}

Status AddBiasTo(KernelCall& call, const TensorView& bias, int64_t size) {
  const TensorView& y = call.outputs[0];
  return WithFactor(y.dtype, [&]<typename C>(C) {
    return gpu::ForEach(*call.stream, y.elements(),
                        AddBias<C>{y.dtype, bias.dtype, size, y.shape[1], bias.data, y.data});
  });
}

// Where a transposed convolution's rows (an output channel and an element of the window each, of one group) are summed.
// Index: of an element of the group's result.
template <typename C>
struct SumRows {
  WindowAxis window[3];  // in_*: of the result; out_*: of the operand
  int64_t channels, out_channels, first_channel, in_size, out_size;
  DType type, bias_type;
  const C* rows;
  const std::byte* bias;  // nullptr: none
  std::byte* y;

  // The operand's index whose window's element k lies on the result's index o; -1: none.
  SBP_HD int64_t Above(const WindowAxis& d, int64_t o, int64_t k) const {
    const int64_t shifted = o + d.in_begin + d.pad_low - k * d.dilation;
    if (shifted < 0 || shifted % d.stride != 0) return -1;
    const int64_t at = shifted / d.stride - d.out_begin;
    return at >= 0 && at < d.out_held ? at : -1;
  }
  SBP_HD void operator()(int64_t i) const {
    const auto &wd = window[0], &wh = window[1], &ww = window[2];
    const int64_t plane = Divide(i, out_size), o = i - plane * out_size;
    const int64_t n = plane / out_channels, m = plane % out_channels;
    const int64_t od = o / (wh.in_held * ww.in_held), oh = o / ww.in_held % wh.in_held, ow = o % ww.in_held;
    C sum = bias != nullptr ? LoadNumber<C>(bias_type, bias, first_channel + m) : C{0};
    for (int64_t a = 0; a < wd.kernel; ++a) {
      const int64_t d = Above(wd, od, a);
      for (int64_t b = 0; d >= 0 && b < wh.kernel; ++b) {
        const int64_t h = Above(wh, oh, b);
        for (int64_t k = 0; h >= 0 && k < ww.kernel; ++k) {
          const int64_t w = Above(ww, ow, k);
          if (w < 0) continue;
          const int64_t row = ((m * wd.kernel + a) * wh.kernel + b) * ww.kernel + k;
          sum += rows[(n * out_channels * wd.kernel * wh.kernel * ww.kernel + row) * in_size +
                      (d * wh.out_held + h) * ww.out_held + w];
        }
      }
    }
    StoreNumber(type, y, (n * channels + first_channel + m) * out_size + o, sum);
  }
};

// Per group one product of matrices, then its rows summed under their windows.
template <typename C>
Status ConvolveTransposed(KernelCall& call, const ConvSizes& s) {
  const TensorView &x = call.inputs[0], &weight = call.inputs[1], &y = call.outputs[0];
  constexpr DType kType = std::is_same_v<C, double> ? DType::kF64 : DType::kF32;
  SBP_ASSIGN_OR_RETURN(const std::byte* in, ElementsAs(call, x, kType));
  SBP_ASSIGN_OR_RETURN(const std::byte* weights, ElementsAs(call, weight, kType));
  SumRows<C> sum{{s.window[0], s.window[1], s.window[2]}, y.shape[1], s.out_channels};
  sum.in_size = s.in_size;
  sum.out_size = s.out_size;
  sum.type = y.dtype;
  sum.y = y.data;
  if (call.has(2)) {
    sum.bias = call.inputs[2].data;
    sum.bias_type = call.inputs[2].dtype;
  }
  gpu::GemmCall gemm;
  gemm.dtype = kType;
  gemm.allow_tf32 = call.allow_tf32;
  gemm.transpose_a = true;
  gemm.batch = x.shape[0];
  gemm.m = sum.out_channels * s.kernel_size;
  gemm.n = sum.in_size;
  gemm.k = s.in_channels;
  gemm.stride_c = x.shape[1] * sum.in_size;
  SBP_ASSIGN_OR_RETURN(C * rows, ScratchFor<C>(call, gemm.batch * gemm.m * gemm.n));
  sum.rows = rows;
  gemm.out = reinterpret_cast<std::byte*>(rows);
  for (int64_t g = 0; g < s.groups; ++g) {
    gemm.a = weights + g * s.in_channels * gemm.m * static_cast<int64_t>(sizeof(C));
    gemm.c = in + g * s.in_channels * sum.in_size * static_cast<int64_t>(sizeof(C));
    SBP_RETURN_IF_ERROR(call.stream->Gemm(gemm));
    sum.first_channel = g * sum.out_channels;
    SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, gemm.batch * sum.out_channels * sum.out_size, sum));
  }
  return OkStatus();
}

}  // namespace

Status Conv(KernelCall& call) {
  const TensorView& y = call.outputs[0];
  if (y.elements() == 0) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const ConvSizes s, ConvSizesOf(call));
  bool done = false;
  if (IsFloat(y.dtype)) {
    SBP_ASSIGN_OR_RETURN(done, ConvolveInLibrary(call, s));
  }
  if (!done) {
    SBP_RETURN_IF_ERROR(WithFactor(y.dtype, [&]<typename C>(C) { return ConvolvePlainly<C>(call, s, {}, {}); }));
  }
  return call.has(2) ? AddBiasTo(call, call.inputs[2], s.out_size) : OkStatus();
}

Status ConvInteger(KernelCall& call) {
  if (call.outputs[0].elements() == 0) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const ConvSizes s, ConvSizesOf(call));
  return ConvolvePlainly<uint64_t>(call, s, ZeroPointOf(call, 2, call.inputs[0]), ZeroPointOf(call, 3, call.inputs[1]));
}

Status ConvTranspose(KernelCall& call) {
  const TensorView& y = call.outputs[0];
  if (y.elements() == 0) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const ConvSizes s, TransposedConvSizesOf(call));
  return GemmType(y.dtype) == DType::kF64 ? ConvolveTransposed<double>(call, s) : ConvolveTransposed<float>(call, s);
}

}  // namespace sbp::SBP_GPU_BUILD
