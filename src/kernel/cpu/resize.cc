// Resize: dimension after dimension, each output element a weighted sum of input elements, or the nearest of them.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/resample.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/resize_plan.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

std::vector<double> NumbersOf(const KernelCall& call, size_t operand) {
  if (!call.has(operand)) return {};
  const TensorView& view = call.inputs[operand];
  std::vector<double> numbers(static_cast<size_t>(view.elements()));
  const int64_t bytes = ElementBytes(view.dtype);
  Convert(view.dtype, view.data, bytes, DType::kF64, reinterpret_cast<std::byte*>(numbers.data()), sizeof(double),
          view.elements());
  return numbers;
}

// One dimension on the way: `outer` blocks of lines of `inner` elements.
struct Line {
  int64_t outer = 1, inner = 1;
  Range in, out;  // what is held of input and output
};

// Of elements of type T, whose numbers are mixed (or, of one tap, copied).
template <typename T>
void Mix(const Line& line, const ResizeTaps& taps, bool copies, const T* in, T* out) {
  for (int64_t b = 0; b < line.outer; ++b, in += line.in.size() * line.inner) {
    for (int64_t o = line.out.begin; o < line.out.end; ++o, out += line.inner) {
      const size_t at = static_cast<size_t>(o) * taps.count;
      const auto under = [&](size_t k) { return in + (taps.index[at + k] - line.in.begin) * line.inner; };
      if (copies) {
        std::copy(under(0), under(0) + line.inner, out);
        continue;
      }
      std::fill(out, out + line.inner, T{0});
      for (size_t k = 0; k < taps.count; ++k) {
        const T* from = under(k);
        const T weight = static_cast<T>(taps.weight[at + k]);
        for (int64_t i = 0; i < line.inner; ++i) out[i] += weight * from[i];
      }
    }
  }
}

// What lies outside the input has the extrapolation's value.
template <typename T>
void Extrapolate(const TensorView& y, const ResizedDim& dim, const ResizeTaps& taps, T value, T* out) {
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < y.rank(); ++d) (d < dim.dim ? outer : inner) *= d == dim.dim ? 1 : y.shape[d];
  for (int64_t b = 0; b < outer; ++b) {
    for (int64_t o = y.ranges[dim.dim].begin; o < y.ranges[dim.dim].end; ++o, out += inner) {
      if (taps.outside[static_cast<size_t>(o)]) std::fill(out, out + inner, value);
    }
  }
}

template <typename T>
Status ResizeAs(const ResizeQuestion& question, DType type, KernelCall& call) {
  const TensorView& x = call.inputs[0];
  TensorView& y = call.outputs[0];
  const T* in = reinterpret_cast<const T*>(ElementsAs(x, type, *call.scratch));
  const std::vector<ResizedDim> dims = FindResizedDims(question);
  Shape shape = x.shape;
  std::vector<ResizeTaps> all;
  for (const ResizedDim& dim : dims) {
    ResizeTaps taps = FindResizeTaps(question, dim);
    Line line{1, 1, x.ranges[dim.dim], y.ranges[dim.dim]};
    for (int d = 0; d < x.rank(); ++d) (d < dim.dim ? line.outer : line.inner) *= d == dim.dim ? 1 : shape[d];
    SBP_RETURN_IF_ERROR(KeepInside(line.in, line.out, taps));
    shape[dim.dim] = line.out.size();
    T* out = call.scratch->Allocate<T>(line.outer * line.out.size() * line.inner);
    Mix(line, taps, question.mode == "nearest", in, out);
    in = out;
    all.push_back(std::move(taps));
  }
  if (shape != y.shape) return Defect("the parts of what is not resized differ");
  T* out = const_cast<T*>(in);
  if (dims.empty()) {
    out = call.scratch->Allocate<T>(x.elements());
    std::copy(in, in + x.elements(), out);
  }
  const T value = static_cast<T>(call.attributes->Float("extrapolation_value", 0));
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::vector<bool>& outside = all[i].outside;
    if (std::find(outside.begin(), outside.end(), true) != outside.end()) Extrapolate(y, dims[i], all[i], value, out);
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(out);
  Convert(type, bytes, sizeof(T), y.dtype, y.data, ElementBytes(y.dtype), y.elements());
  return OkStatus();
}

}  // namespace

// The narrower floats are mixed as f32, integers as they are in f32 or f64, whichever holds them.
Status Resize(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const ResizeQuestion question,
                       ResizeQuestionOf(call, {NumbersOf(call, 1), NumbersOf(call, 2), NumbersOf(call, 3)}));
  return MixesWide(call.inputs[0].dtype) ? ResizeAs<double>(question, DType::kF64, call)
                                         : ResizeAs<float>(question, DType::kF32, call);
}

}  // namespace sbp::cpu
