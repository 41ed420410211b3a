// Resize: dimension after dimension, each output element a weighted sum of input elements, or the nearest of them.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/resample.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/resize_plan.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// Index: of an element of the output, which is (outer, out, inner).
template <typename T>
struct Mix {
  int64_t in_size, out_size, inner;  // what is held
  int64_t in_begin, out_begin, taps;
  bool copies;
  const int64_t* index;  // [whole out, taps]: in the whole input
  const T* weight;
  const T* in;
  T* out;
  SBP_HD void operator()(int64_t i) const {
    const int64_t line = Divide(i, inner), element = i - line * inner, outer = Divide(line, out_size);
    const int64_t first = (out_begin + line - outer * out_size) * taps, begin = outer * in_size - in_begin;
    const auto under = [&](int64_t k) { return in[(begin + index[first + k]) * inner + element]; };
    if (copies) {
      out[i] = under(0);
      return;
    }
    T sum{0};
    for (int64_t k = 0; k < taps; ++k) sum += weight[first + k] * under(k);
    out[i] = sum;
  }
};

// What lies outside the input has the extrapolation's value.
template <typename T>
struct Extrapolate {
  int64_t size, inner, begin;
  const uint8_t* outside;  // [whole out]
  T value;
  T* out;
  SBP_HD void operator()(int64_t i) const {
    if (outside[begin + Divide(i, inner) % size]) out[i] = value;
  }
};

struct Sides {
  int64_t outer = 1, inner = 1;
  Sides(const Shape& shape, int dim) {
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : shape[d];
  }
};

template <typename T>
Result<T*> MixDim(KernelCall& call, const ResizedDim& dim, const ResizeTaps& taps, bool copies, const Shape& shape,
                  const T* in) {
  const Range held = call.inputs[0].ranges[dim.dim], made = call.outputs[0].ranges[dim.dim];
  const Sides sides(shape, dim.dim);
  const int64_t n = sides.outer * made.size() * sides.inner;
  Mix<T> mix{held.size(), made.size(), sides.inner, held.begin, made.begin, static_cast<int64_t>(taps.count), copies};
  SBP_ASSIGN_OR_RETURN(mix.index, OnDevice(call, taps.index));
  SBP_ASSIGN_OR_RETURN(mix.weight, OnDevice(call, std::vector<T>(taps.weight.begin(), taps.weight.end())));
  SBP_ASSIGN_OR_RETURN(mix.out, ScratchFor<T>(call, n));
  mix.in = in;
  SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, n, mix));
  return mix.out;
}

template <typename T>
Status ExtrapolateDim(KernelCall& call, const ResizedDim& dim, const ResizeTaps& taps, T* out) {
  if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) return OkStatus();
  const TensorView& y = call.outputs[0];
  Extrapolate<T> f{y.shape[dim.dim], Sides(y.shape, dim.dim).inner, y.ranges[dim.dim].begin};
  SBP_ASSIGN_OR_RETURN(f.outside, OnDevice(call, std::vector<uint8_t>(taps.outside.begin(), taps.outside.end())));
  f.value = static_cast<T>(call.attributes->Float("extrapolation_value", 0));
  f.out = out;
  return gpu::ForEach(*call.stream, y.elements(), f);
}

template <typename T>
Status ResizeAs(const ResizeQuestion& question, DType type, KernelCall& call) {
  const TensorView& x = call.inputs[0];
  TensorView& y = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const std::byte* elements, ElementsAs(call, x, type));
  const auto* in = reinterpret_cast<const T*>(elements);
  const std::vector<ResizedDim> dims = FindResizedDims(question);
  Shape shape = x.shape;
  std::vector<ResizeTaps> all;
  T* out = nullptr;
  for (const ResizedDim& dim : dims) {
    all.push_back(FindResizeTaps(question, dim));
    SBP_RETURN_IF_ERROR(KeepInside(x.ranges[dim.dim], y.ranges[dim.dim], all.back()));
    SBP_ASSIGN_OR_RETURN(out, MixDim(call, dim, all.back(), question.mode == "nearest", shape, in));
    shape[dim.dim] = y.ranges[dim.dim].size();
    in = out;
  }
  if (shape != y.shape) return Defect("the parts of what is not resized differ");
  for (size_t i = 0; i < dims.size(); ++i) SBP_RETURN_IF_ERROR(ExtrapolateDim(call, dims[i], all[i], out));
  return Convert(*call.stream, type, reinterpret_cast<const std::byte*>(in), y.dtype, y.data, y.elements());
}

Result<std::vector<double>> NumbersIf(const KernelCall& call, size_t i) {
  if (!call.has(i)) return std::vector<double>();
  return NumbersOf(call, i);
}

}  // namespace

Status Resize(KernelCall& call) {
  ResizeOperands operands;
  SBP_ASSIGN_OR_RETURN(operands.roi, NumbersIf(call, 1));
  SBP_ASSIGN_OR_RETURN(operands.scales, NumbersIf(call, 2));
  SBP_ASSIGN_OR_RETURN(operands.sizes, NumbersIf(call, 3));
  SBP_ASSIGN_OR_RETURN(const ResizeQuestion question, ResizeQuestionOf(call, operands));
  return MixesWide(call.inputs[0].dtype) ? ResizeAs<double>(question, DType::kF64, call)
                                         : ResizeAs<float>(question, DType::kF32, call);
}

}  // namespace sbp::SBP_GPU_BUILD
