#include "base/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sbp {
namespace {

double SourcePosition(const ResizeQuestion& question, const ResizedDim& dim, double at) {
  const double in = static_cast<double>(dim.in), out = static_cast<double>(dim.out);
  const double scaled = dim.scale * in;  // the size before it was cut to a whole number
  if (question.where == "asymmetric") return at / dim.scale;
  if (question.where == "align_corners") return scaled == 1 ? 0 : at * (in - 1) / (scaled - 1);
  if (question.where == "tf_half_pixel_for_nn") return (at + 0.5) / dim.scale;  // of opsets 11 and 12
  if (question.where == "pytorch_half_pixel" && out <= 1) return 0;
  if (question.where == "half_pixel_symmetric") return in / 2 * (1 - out / scaled) + (at + 0.5) / dim.scale - 0.5;
  if (question.crops()) {
    if (out <= 1) return 0.5 * (dim.begin + dim.end) * (in - 1);
    return dim.begin * (in - 1) + at * (dim.end - dim.begin) * (in - 1) / (out - 1);
  }
  return (at + 0.5) / dim.scale - 0.5;
}

double RoundedAs(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

// The weight of an element at distance x.
double Kernel(const ResizeQuestion& question, double x) {
  x = std::abs(x);
  if (question.mode == "linear") return std::max(0.0, 1 - x);
  const double a = question.cubic;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The neighbours of position x and their weights.
void AddTaps(const ResizeQuestion& question, const ResizedDim& dim, double x, std::vector<int64_t>& index,
             std::vector<double>& weight) {
  if (question.mode == "nearest") {
    index = {std::clamp<int64_t>(static_cast<int64_t>(RoundedAs(question.nearest, x)), 0, dim.in - 1)};
    weight = {1};
    return;
  }
  // A smaller result is smoothed first: the kernel grows as the size shrinks.
  const double shrink = question.antialias ? std::min(dim.scale, 1.0) : 1;
  const double reach = (question.mode == "linear" ? 1 : 2) / shrink;
  const auto first = static_cast<int64_t>(std::floor(-reach)) + 1;
  const auto base = static_cast<int64_t>(std::ceil(x)) - 1;
  for (int64_t i = first; i <= 1 - first; ++i) {
    index.push_back(base + i);
    weight.push_back(Kernel(question, shrink * (static_cast<double>(base + i) - x)));
  }
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t inside = std::clamp<int64_t>(index[i], 0, dim.in - 1);
    if (question.exclude_outside && inside != index[i]) weight[i] = 0;
    index[i] = inside;
  }
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  if (question.antialias || question.exclude_outside) {
    for (double& w : weight) w /= sum;
  }
}

}  // namespace

std::vector<ResizedDim> FindResizedDims(const ResizeQuestion& question) {
  const auto rank = static_cast<int64_t>(question.in.size());
  std::vector<int64_t> axes = question.axes;
  if (!question.has_axes) {
    axes.resize(question.in.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::vector<ResizedDim> dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedDim dim;
    dim.dim = static_cast<int>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    dim.in = question.in[dim.dim];
    dim.out = question.out[dim.dim];
    dim.scale =
        i < question.scales.size() ? question.scales[i] : static_cast<double>(dim.out) / static_cast<double>(dim.in);
    if (question.crops()) {
      dim.begin = question.roi[i];
      dim.end = question.roi[i + axes.size()];
    }
    dims.push_back(dim);
  }
  // One scale for all axes, so that the image fits into the sizes, or covers them.
  if (question.scales.empty() && question.policy != "stretch" && question.sizes.size() == dims.size() &&
      !dims.empty()) {
    std::vector<double> each;
    for (size_t i = 0; i < dims.size(); ++i) each.push_back(question.sizes[i] / static_cast<double>(dims[i].in));
    const auto [least, most] = std::minmax_element(each.begin(), each.end());
    for (ResizedDim& dim : dims) dim.scale = question.policy == "not_larger" ? *least : *most;
  }
  std::erase_if(dims, [&](const ResizedDim& dim) { return !question.crops() && dim.in == dim.out && dim.scale == 1; });
  std::sort(dims.begin(), dims.end(), [](const ResizedDim& a, const ResizedDim& b) { return a.dim < b.dim; });
  return dims;
}

ResizeTaps FindResizeTaps(const ResizeQuestion& question, const ResizedDim& dim) {
  std::vector<std::vector<int64_t>> index(static_cast<size_t>(dim.out));
  std::vector<std::vector<double>> weight(index.size());
  ResizeTaps taps;
  for (size_t o = 0; o < index.size(); ++o) {
    const double x = SourcePosition(question, dim, static_cast<double>(o));
    taps.outside.push_back(question.crops() && (x < 0 || x > static_cast<double>(dim.in - 1)));
    AddTaps(question, dim, x, index[o], weight[o]);
    taps.count = std::max(taps.count, index[o].size());
  }
  for (size_t o = 0; o < index.size(); ++o) {
    index[o].resize(taps.count);
    weight[o].resize(taps.count);
    taps.index.insert(taps.index.end(), index[o].begin(), index[o].end());
    taps.weight.insert(taps.weight.end(), weight[o].begin(), weight[o].end());
  }
  return taps;
}

}  // namespace sbp
