// Resize: dimension after dimension, each output element a weighted sum of input elements at positions that are known:
// gathered neighbour by neighbour, or repeated where nothing is mixed. Positions and weights as in ONNX's definition.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "decompose/expansions.h"

namespace sbp {
namespace {

// One resized dimension. `begin`, `end`: the region in parts of the input, for tf_crop_and_resize.
struct ResizedDim {
  int dim = 0;
  int64_t in = 0, out = 0;
  double scale = 1, begin = 0, end = 1;
};

struct Sampling {
  std::string mode, where, nearest;
  double cubic = -0.75;
  bool antialias = false, exclude_outside = false;
};

// Per output element as many taps as any of them needs; those left over have weight 0.
struct Taps {
  size_t count = 0;
  std::vector<int64_t> index;  // [out, count]
  std::vector<double> weight;
  std::vector<bool> outside;  // [out]: beyond the input of tf_crop_and_resize
};

double SourcePosition(const Sampling& sampling, const ResizedDim& dim, double at) {
  const double in = static_cast<double>(dim.in), out = static_cast<double>(dim.out);
  const double scaled = dim.scale * in;  // the size before it was cut to a whole number
  if (sampling.where == "asymmetric") return at / dim.scale;
  if (sampling.where == "align_corners") return scaled == 1 ? 0 : at * (in - 1) / (scaled - 1);
  if (sampling.where == "tf_half_pixel_for_nn") return (at + 0.5) / dim.scale;  // of opsets 11 and 12
  if (sampling.where == "pytorch_half_pixel" && out <= 1) return 0;
  if (sampling.where == "half_pixel_symmetric") return in / 2 * (1 - out / scaled) + (at + 0.5) / dim.scale - 0.5;
  if (sampling.where == "tf_crop_and_resize") {
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
double Kernel(const Sampling& sampling, double x) {
  x = std::abs(x);
  if (sampling.mode == "linear") return std::max(0.0, 1 - x);
  const double a = sampling.cubic;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The neighbours of position x and their weights.
void AddTaps(const Sampling& sampling, const ResizedDim& dim, double x, std::vector<int64_t>& index,
             std::vector<double>& weight) {
  if (sampling.mode == "nearest") {
    index = {std::clamp<int64_t>(static_cast<int64_t>(RoundedAs(sampling.nearest, x)), 0, dim.in - 1)};
    weight = {1};
    return;
  }
  // A smaller result is smoothed first: the kernel grows as the size shrinks.
  const double shrink = sampling.antialias ? std::min(dim.scale, 1.0) : 1;
  const double reach = (sampling.mode == "linear" ? 1 : 2) / shrink;
  const auto first = static_cast<int64_t>(std::floor(-reach)) + 1;
  const auto base = static_cast<int64_t>(std::ceil(x)) - 1;
  for (int64_t i = first; i <= 1 - first; ++i) {
    index.push_back(base + i);
    weight.push_back(Kernel(sampling, shrink * (static_cast<double>(base + i) - x)));
  }
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t inside = std::clamp<int64_t>(index[i], 0, dim.in - 1);
    if (sampling.exclude_outside && inside != index[i]) weight[i] = 0;
    index[i] = inside;
  }
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  if (sampling.antialias || sampling.exclude_outside) {
    for (double& w : weight) w /= sum;
  }
}

Taps FindTaps(const Sampling& sampling, const ResizedDim& dim) {
  std::vector<std::vector<int64_t>> index(static_cast<size_t>(dim.out));
  std::vector<std::vector<double>> weight(index.size());
  Taps taps;
  for (size_t o = 0; o < index.size(); ++o) {
    const double x = SourcePosition(sampling, dim, static_cast<double>(o));
    taps.outside.push_back(sampling.where == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(dim.in - 1)));
    AddTaps(sampling, dim, x, index[o], weight[o]);
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

// A constant that lies along dimension `dim` of a tensor of this rank.
template <typename T>
Shape ShapeAlong(const std::vector<T>& values, int dim, size_t rank) {
  Shape shape(rank - static_cast<size_t>(dim), 1);
  shape[0] = static_cast<int64_t>(values.size());
  return shape;
}

// Each element as often as the next: dimensions (elements, copies), so that elements can be split.
TensorId Repeat(ExpansionBuilder& builder, TensorId x, const ResizedDim& dim) {
  Shape apart = builder.shape(x), copied = apart, joined = apart;
  apart.insert(apart.begin() + dim.dim + 1, 1);
  copied.insert(copied.begin() + dim.dim + 1, dim.out / dim.in);
  joined[dim.dim] = dim.out;
  const TensorId elements = builder.Call("Reshape", {x, builder.Ints(apart)});
  return builder.Call("Reshape", {builder.Call("Expand", {elements, builder.Ints(copied)}), builder.Ints(joined)});
}

bool Repeats(const Taps& taps, const ResizedDim& dim) {
  if (taps.count != 1 || dim.in == 0 || dim.out % dim.in != 0) return false;
  for (int64_t o = 0; o < dim.out; ++o) {
    if (taps.index[o] != o / (dim.out / dim.in)) return false;
  }
  return true;
}

TensorId ResizeDim(ExpansionBuilder& builder, TensorId x, const ResizedDim& dim, const Taps& taps) {
  if (Repeats(taps, dim)) return Repeat(builder, x, dim);
  TensorId sum;
  for (size_t k = 0; k < taps.count; ++k) {
    std::vector<int64_t> index;
    Literal weight;
    for (size_t o = 0; o < static_cast<size_t>(dim.out); ++o) {
      index.push_back(taps.index[o * taps.count + k]);
      weight.floats.push_back(taps.weight[o * taps.count + k]);
    }
    TensorId value = builder.Call("Gather", {x, builder.Ints(index)}, {{"axis", int64_t{dim.dim}}});
    if (taps.count > 1) {
      weight.type = {builder.type(x).dtype, ShapeAlong(index, dim.dim, builder.shape(x).size())};
      value = builder.Call("Mul", {value, builder.Constant(std::move(weight))});
    }
    sum = k == 0 ? value : builder.Call("Add", {sum, value});
  }
  return sum;
}

std::vector<double> Numbers(const ExpansionBuilder& builder, std::string_view operand) {
  const TensorId id = builder.Operand(operand);
  const Literal* literal = id.valid() ? builder.value(id) : nullptr;
  if (literal == nullptr) return {};
  if (!literal->is_integral()) return literal->floats;
  return std::vector<double>(literal->ints.begin(), literal->ints.end());
}

// The dimensions that are resized or cropped, in their order.
Result<std::vector<ResizedDim>> FindDims(const ExpansionBuilder& builder, const Sampling& sampling) {
  const TensorId x = builder.Operand("X");
  const Shape &in = builder.shape(x), &out = builder.instance().results[0].shape;
  std::vector<int64_t> axes = builder.IntsAttribute("axes");
  if (builder.Attribute("axes") == nullptr) {
    axes.resize(in.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const std::vector<double> scales = Numbers(builder, "scales"), sizes = Numbers(builder, "sizes");
  const std::vector<double> roi = Numbers(builder, "roi");
  const bool crops = sampling.where == "tf_crop_and_resize";
  if (crops && roi.size() != 2 * axes.size()) return BadInput("the value of \"roi\" must be known");
  std::vector<ResizedDim> dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedDim dim;
    dim.dim = static_cast<int>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(in.size()) : axes[i]);
    dim.in = in[dim.dim];
    dim.out = out[dim.dim];
    dim.scale = i < scales.size() ? scales[i] : static_cast<double>(dim.out) / static_cast<double>(dim.in);
    if (crops) {
      dim.begin = roi[i];
      dim.end = roi[i + axes.size()];
    }
    dims.push_back(dim);
  }
  // One scale for all axes, so that the image fits into the sizes, or covers them.
  const std::string policy = builder.TextAttribute("keep_aspect_ratio_policy");
  if (scales.empty() && policy != "stretch" && sizes.size() == dims.size() && !dims.empty()) {
    std::vector<double> each;
    for (size_t i = 0; i < dims.size(); ++i) each.push_back(sizes[i] / static_cast<double>(dims[i].in));
    const auto [least, most] = std::minmax_element(each.begin(), each.end());
    for (ResizedDim& dim : dims) dim.scale = policy == "not_larger" ? *least : *most;
  }
  std::erase_if(dims, [&](const ResizedDim& dim) { return !crops && dim.in == dim.out && dim.scale == 1; });
  std::sort(dims.begin(), dims.end(), [](const ResizedDim& a, const ResizedDim& b) { return a.dim < b.dim; });
  return dims;
}

// What lies outside the input has the extrapolation's value.
TensorId Extrapolate(ExpansionBuilder& builder, TensorId y, const ResizedDim& dim, const Taps& taps) {
  if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) return y;
  Literal outside;
  outside.ints.assign(taps.outside.begin(), taps.outside.end());
  outside.type = {DType::kBool, ShapeAlong(taps.outside, dim.dim, builder.shape(y).size())};
  const TensorId value = builder.Number(builder.FloatAttribute("extrapolation_value"), builder.type(y).dtype);
  return builder.Call("Where", {builder.Constant(std::move(outside)), value, y});
}

}  // namespace

Status ExpandResize(ExpansionBuilder& builder) {
  Sampling sampling{builder.TextAttribute("mode"),          builder.TextAttribute("coordinate_transformation_mode"),
                    builder.TextAttribute("nearest_mode"),  builder.FloatAttribute("cubic_coeff_a"),
                    builder.IntAttribute("antialias") != 0, builder.IntAttribute("exclude_outside") != 0};
  if (sampling.mode != "nearest" && sampling.mode != "linear" && sampling.mode != "cubic") {
    return BadInput(StrCat("no mode ", Quote(sampling.mode)));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<ResizedDim> dims, FindDims(builder, sampling));
  const TensorId x = builder.Operand("X");
  const DType type = builder.type(x).dtype;
  TensorId y = x;
  if (sampling.mode != "nearest" && !IsFloat(type)) {
    y = builder.Call("Cast", {y}, {{"to", static_cast<int64_t>(DTypeBits(type) > 16 ? DType::kF64 : DType::kF32)}});
  }
  std::vector<Taps> taps;
  for (const ResizedDim& dim : dims) {
    taps.push_back(FindTaps(sampling, dim));
    y = ResizeDim(builder, y, dim, taps.back());
    SBP_RETURN_IF_ERROR(builder.status());
  }
  for (size_t i = 0; i < dims.size(); ++i) y = Extrapolate(builder, y, dims[i], taps[i]);
  builder.SetResult(0, builder.Call("Cast", {y}, {{"to", static_cast<int64_t>(type)}}));
  return builder.status();
}

}  // namespace sbp
