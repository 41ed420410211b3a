// Images: resampling, grids, regions, unpooling, deformed convolution. A part knows where it lies, and treats what it
// does not hold as 0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

// Where output position `at` of a resized dimension lies in the input.
struct Resized {
  double in = 0, out = 0, scale = 1, begin = 0, end = 1;  // begin, end: the region, for tf_crop_and_resize
};
double SourceOf(const std::string& mode, const Resized& dim, double at) {
  if (mode == "asymmetric") return at / dim.scale;
  if (mode == "align_corners") return dim.scale * dim.in == 1 ? 0 : at * (dim.in - 1) / (dim.scale * dim.in - 1);
  if (mode == "pytorch_half_pixel") return dim.out > 1 ? (at + 0.5) / dim.scale - 0.5 : 0;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = dim.out / (dim.scale * dim.in);
    return dim.in / 2 * (1 - adjustment) + (at + 0.5) / dim.scale - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    if (dim.out <= 1) return 0.5 * (dim.begin + dim.end) * (dim.in - 1);
    return dim.begin * (dim.in - 1) + at * (dim.end - dim.begin) * (dim.in - 1) / (dim.out - 1);
  }
  return (at + 0.5) / dim.scale - 0.5;
}

double RoundAs(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

// Positions in a dimension and their weights.
struct Sample {
  std::vector<int64_t> at;
  std::vector<double> weight;
};
// The filters as functions of the distance: a triangle, and Keys' cubic.
double FilterAt(const Attributes& attributes, double distance) {
  const double d = std::abs(distance);
  if (attributes.String("mode", "nearest") == "linear") return std::max(0.0, 1 - d);
  const double a = attributes.Float("cubic_coeff_a", -0.75);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Of what lies within the filter's reach, wider by as much as an antialiased image shrinks. Antialiased weights, and
// those that leave out what lies outside, sum to 1.
Sample SampleAt(const Attributes& attributes, const Resized& dim, double x) {
  const std::string mode = attributes.String("mode", "nearest");
  if (mode == "nearest")
    return {{static_cast<int64_t>(RoundAs(attributes.String("nearest_mode", "round_prefer_floor"), x))}, {1}};
  const bool antialias = attributes.Int("antialias", 0) != 0 && dim.scale < 1;
  const bool inside = attributes.Int("exclude_outside", 0) != 0;
  const double stretch = antialias ? dim.scale : 1, reach = (mode == "linear" ? 1 : 2) / stretch;
  Sample sample;
  double sum = 0;
  for (auto at = static_cast<int64_t>(std::ceil(x - reach)); static_cast<double>(at) <= x + reach; ++at) {
    if (inside && (at < 0 || static_cast<double>(at) >= dim.in)) continue;
    sample.at.push_back(at);
    sample.weight.push_back(FilterAt(attributes, (static_cast<double>(at) - x) * stretch));
    sum += sample.weight.back();
  }
  if (antialias || inside) {
    for (double& weight : sample.weight) weight /= sum;
  }
  return sample;
}

// One dimension after another: the result's element is the sum over all combinations of samples.
double Combined(const Call& call, const std::vector<Sample>& samples, Index& at, size_t d) {
  const Piece& piece = call.input_pieces[0];
  if (d == samples.size()) return piece.Contains(at) ? call.in(0).at(piece.ToLocal(at)) : 0;
  double sum = 0;
  for (size_t i = 0; i < samples[d].at.size(); ++i) {
    at[d] = std::clamp<int64_t>(samples[d].at[i], 0, piece.global[d] - 1);
    sum += samples[d].weight[i] * Combined(call, samples, at, d + 1);
  }
  return sum;
}

std::vector<Array> ResizeBy(const Call& call, const std::vector<Resized>& dims, const std::string& where) {
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& local) {
    const Index out = call.result_pieces[0].ToGlobal(local);
    std::vector<Sample> samples;
    bool outside = false;
    for (size_t d = 0; d < dims.size(); ++d) {
      const bool kept = dims[d].in == dims[d].out && dims[d].scale == 1 && where != "tf_crop_and_resize";
      const double x = SourceOf(where, dims[d], static_cast<double>(out[d]));
      outside = outside || (where == "tf_crop_and_resize" && (x < 0 || x > dims[d].in - 1));
      samples.push_back(kept ? Sample{{out[d]}, {1}} : SampleAt(*call.attributes, dims[d], x));
    }
    Index at(dims.size());
    y.at(local) = outside ? call.attributes->Float("extrapolation_value", 0) : Combined(call, samples, at, 0);
  });
  return {y};
}

std::vector<Array> Resize(const Call& call) {
  const bool by_scale = call.has(2) && !call.in(2).values.empty();
  const std::string where = call.attributes->String("coordinate_transformation_mode", "half_pixel");
  const Shape &in = call.input_pieces[0].global, &out = call.result_pieces[0].global;
  const auto* given = call.attributes->Ints("axes");
  std::vector<int64_t> axes = given ? *given : std::vector<int64_t>();
  for (int64_t d = 0; given == nullptr && d < static_cast<int64_t>(in.size()); ++d) axes.push_back(d);
  std::vector<Resized> dims;
  for (size_t d = 0; d < in.size(); ++d) dims.push_back({static_cast<double>(in[d]), static_cast<double>(out[d])});
  for (size_t i = 0; i < axes.size(); ++i) {
    Resized& dim = dims[axes[i]];
    dim.scale = by_scale ? call.in(2).values[i] : dim.out / dim.in;
    if (where != "tf_crop_and_resize") continue;
    dim.begin = call.in(1).values[i];
    dim.end = call.in(1).values[i + axes.size()];
  }
  return ResizeBy(call, dims, where);
}

std::vector<Array> Upsample(const Call& call) {
  std::vector<Resized> dims;
  for (size_t d = 0; d < call.in(1).values.size(); ++d) {
    dims.push_back({static_cast<double>(call.input_pieces[0].global[d]),
                    static_cast<double>(call.result_pieces[0].global[d]), call.in(1).values[d]});
  }
  Attributes attributes = *call.attributes;
  attributes.Set("nearest_mode", std::string("floor"));
  Call resize = call;
  resize.attributes = &attributes;
  return ResizeBy(resize, dims, "asymmetric");
}

// x at a real position of its last dimensions, linearly between neighbours; outside: 0. `largest`: of the weighted
// neighbours the largest instead of their sum.
double Interpolated(const Array& x, Index at, const std::vector<double>& position, size_t d = 0, bool largest = false,
                    double weight = 1) {
  if (d == position.size()) return weight * x.at(at);
  const size_t dim = at.size() - position.size() + d;
  const int64_t low = static_cast<int64_t>(std::floor(position[d]));
  const double t = position[d] - static_cast<double>(low);
  double sum = 0;
  for (const int64_t i : {low, low + 1}) {
    const bool inside = i >= 0 && i < x.shape[dim];
    at[dim] = i;
    const double v = inside ? Interpolated(x, at, position, d + 1, largest, weight * (i == low ? 1 - t : t)) : 0;
    sum = largest && i > low ? std::max(sum, v) : sum + v;
  }
  return sum;
}

// How a grid's positions are read.
struct GridMode {
  bool corners = false;
  std::string mode, padding;

  double Reflected(double x, double size) const {
    const double low = corners ? 0 : -0.5, high = corners ? size - 1 : size - 0.5;
    while (high > low && (x < low || x > high)) x = x < low ? 2 * low - x : 2 * high - x;
    return high > low ? x : 0;
  }
  // A position in elements; one that lies beyond the border is brought back where the padding says so.
  double Position(double g, double size) const {
    double x = corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
    if (mode == "nearest") x = std::nearbyint(x);
    const double low = corners ? 0 : -0.5;
    if (padding == "border" && (x < low || x > low + (corners ? size - 1 : size))) return std::clamp(x, 0.0, size - 1);
    return padding == "reflection" ? Reflected(x, size) : x;
  }
};

// The weighted sum of the neighbours along dimension d and those behind it.
double GridValue(const Array& x, const GridMode& grid, Index at, const std::vector<double>& position, size_t d) {
  if (d == position.size()) return x.at(at);
  const double size = static_cast<double>(x.shape[d + 2]), low = std::floor(position[d]), t = position[d] - low;
  std::vector<double> weights{1};
  if (grid.mode == "linear" || grid.mode == "bilinear") weights = {1 - t, t};
  if (grid.mode == "cubic" || grid.mode == "bicubic") {
    const auto near = [](double v) { return (1.25 * v - 2.25) * v * v + 1; };
    const auto far = [](double v) { return ((-0.75 * v + 3.75) * v - 6) * v + 3; };
    weights = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  }
  double sum = 0;
  for (size_t j = 0; j < weights.size(); ++j) {
    double i = low + static_cast<double>(j) - (weights.size() == 4 ? 1 : 0);
    if (grid.padding == "border") i = std::clamp(i, 0.0, size - 1);
    if (grid.padding == "reflection") i = grid.Reflected(i, size);
    if (i < 0 || i > size - 1) continue;
    at[d + 2] = static_cast<int64_t>(std::lround(i));
    sum += weights[j] * GridValue(x, grid, at, position, d + 1);
  }
  return sum;
}

std::vector<Array> GridSample(const Call& call) {
  const Array &x = call.in(0), &grid = call.in(1);
  const GridMode mode{call.attributes->Int("align_corners", 0) != 0, call.attributes->String("mode", "linear"),
                      call.attributes->String("padding_mode", "zeros")};
  const size_t spatial = x.shape.size() - 2;
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& out) {
    Index where{out[0]};
    where.insert(where.end(), out.begin() + 2, out.end());
    where.push_back(0);
    std::vector<double> position(spatial);
    for (size_t d = 0; d < spatial; ++d) {
      where.back() = static_cast<int64_t>(spatial - 1 - d);  // the grid names the last dimension first
      position[d] = mode.Position(grid.at(where), static_cast<double>(x.shape[d + 2]));
    }
    y.at(out) = GridValue(x, mode, out, position, 0);
  });
  return {y};
}

std::vector<Array> AffineGrid(const Call& call) {
  const Array& theta = call.in(0);
  const Piece& piece = call.result_pieces[0];
  const size_t spatial = piece.global.size() - 2;
  const bool corners = call.attributes->Int("align_corners", 0) != 0;
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& local) {
    const Index at = piece.ToGlobal(local);
    double sum = theta.at({local[0], local.back(), static_cast<int64_t>(spatial)});
    for (size_t d = 0; d < spatial; ++d) {
      const size_t dim = spatial - d;
      const double size = static_cast<double>(piece.global[dim]), i = static_cast<double>(at[dim]);
      const double x = corners ? -1 + 2 * i / (size - 1) : -1 + (2 * i + 1) / size;
      sum += theta.at({local[0], local.back(), static_cast<int64_t>(d)}) * x;
    }
    y.at(local) = sum;
  });
  return {y};
}

// A region's image in this part of the batch; none: another rank has it.
bool FindImage(const Call& call, double image, Index& at) {
  const Range mine = call.input_pieces[0].ranges[0];
  at[0] = static_cast<int64_t>(image) - mine.begin;
  return at[0] >= 0 && at[0] < mine.size();
}

// Samples at positions outside the image by more than one element are 0; nearer ones are moved to its border.
double RoiSample(const Array& x, const Index& at, double row, double column, bool largest) {
  const double height = static_cast<double>(x.shape[2]), width = static_cast<double>(x.shape[3]);
  if (row < -1 || row > height || column < -1 || column > width) return 0;
  return Interpolated(x, at, {std::clamp(row, 0.0, height - 1), std::clamp(column, 0.0, width - 1)}, 0, largest);
}

std::vector<Array> RoiAlign(const Call& call) {
  const bool maximum = call.attributes->String("mode", "avg") == "max";
  const bool half = call.attributes->String("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const double scale = call.attributes->Float("spatial_scale", 1), shift = half ? 0.5 : 0;
  const int64_t ratio = call.attributes->Int("sampling_ratio", 0);
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& out) {
    Index at = out;
    if (!FindImage(call, call.in(2).values[out[0]], at)) return;
    double start[2], bin[2];
    int64_t samples[2];
    for (int64_t d : {0, 1}) {  // rows of rois: x1, y1, x2, y2
      start[d] = call.in(1).at({out[0], 1 - d}) * scale - shift;
      double size = call.in(1).at({out[0], 3 - d}) * scale - shift - start[d];
      if (!half) size = std::max(size, 1.0);
      bin[d] = size / static_cast<double>(y.shape[2 + d]);
      samples[d] = ratio > 0 ? ratio : static_cast<int64_t>(std::max(1.0, std::ceil(bin[d])));
    }
    double result = maximum ? -std::numeric_limits<double>::infinity() : 0;
    ForEach({samples[0], samples[1]}, [&](const Index& s) {
      double position[2];
      for (int d : {0, 1}) {
        const double inside = (static_cast<double>(s[d]) + 0.5) / static_cast<double>(samples[d]);
        position[d] = start[d] + bin[d] * (static_cast<double>(out[2 + d]) + inside);
      }
      const double v = RoiSample(call.in(0), at, position[0], position[1], maximum);
      result = maximum ? std::max(result, v) : result + v / static_cast<double>(samples[0] * samples[1]);
    });
    y.at(out) = result;
  });
  return {y};
}

std::vector<Array> MaxRoiPool(const Call& call) {
  const double scale = call.attributes->Float("spatial_scale", 1);
  const Array& x = call.in(0);
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& out) {
    Index at = out;
    if (!FindImage(call, call.in(1).at({out[0], 0}), at)) return;
    int64_t low[2], high[2];
    for (int64_t d : {0, 1}) {  // rows of rois: image, x1, y1, x2, y2
      const double begin = std::round(call.in(1).at({out[0], 2 - d}) * scale);
      const double size = std::max(std::round(call.in(1).at({out[0], 4 - d}) * scale) - begin + 1, 1.0);
      const double bin = size / static_cast<double>(y.shape[2 + d]), i = static_cast<double>(out[2 + d]);
      const auto inside = [&](double v) {
        return std::clamp<int64_t>(static_cast<int64_t>(begin + v), 0, x.shape[2 + d]);
      };
      low[d] = inside(std::floor(i * bin));
      high[d] = inside(std::ceil((i + 1) * bin));
    }
    double result = -std::numeric_limits<double>::infinity();
    for (at[2] = low[0]; at[2] < high[0]; ++at[2]) {
      for (at[3] = low[1]; at[3] < high[1]; ++at[3]) result = std::max(result, x.at(at));
    }
    y.at(out) = low[0] >= high[0] || low[1] >= high[1] ? 0 : result;
  });
  return {y};
}

// Indices count positions in the whole result that the kernel's shape gives; the stated one may be larger.
std::vector<Array> MaxUnpool(const Call& call) {
  const Piece& piece = call.result_pieces[0];
  Array y = call.MakeResult(0);
  const size_t dims = piece.global.size() - 2;
  const auto entry = [&](const char* name, size_t i, int64_t fallback) {
    const auto* list = call.attributes->Ints(name);
    return list != nullptr && i < list->size() ? (*list)[i] : fallback;
  };
  Shape counted = piece.global;
  for (size_t d = 0; d < dims; ++d) {
    counted[d + 2] = (call.in(0).shape[d + 2] - 1) * entry("strides", d, 1) + entry("kernel_shape", d, 1) -
                     entry("pads", d, 0) - entry("pads", d + dims, 0);
  }
  for (size_t i = 0; i < call.in(0).values.size(); ++i) {
    int64_t linear = static_cast<int64_t>(call.in(1).values[i]);
    Index at(counted.size());
    for (size_t d = at.size(); d-- > 0; linear /= counted[d]) at[d] = linear % counted[d];
    if (piece.Contains(at)) y.at(piece.ToLocal(at)) = call.in(0).values[i];
  }
  return {y};
}

// Where a deformed window reads: an offset (rows, columns) and a weight per group, kernel element and output position.
struct Deformation {
  const Call& call;
  std::vector<int64_t> stride, dilation, pad;
  int64_t elements = 1, kernel_width = 1;

  double Read(const Index& out, int64_t channel, int64_t k) const {
    const Array &x = call.in(0), &offset = call.in(2);
    const int64_t groups = call.attributes->Int("offset_group", 1), group = channel / (x.shape[1] / groups);
    const Index global = call.result_pieces[0].ToGlobal(out);
    const int64_t place[2] = {k / kernel_width, k % kernel_width};
    std::vector<double> position;
    for (int64_t d : {0, 1}) {
      const double regular = static_cast<double>(global[d + 2] * stride[d] - pad[d] + place[d] * dilation[d]);
      position.push_back(regular + offset.at({out[0], (group * elements + k) * 2 + d, out[2], out[3]}));
    }
    const double v = Interpolated(x, {out[0], channel, 0, 0}, position);
    return call.has(4) ? v * call.in(4).at({out[0], group * elements + k, out[2], out[3]}) : v;
  }
};

std::vector<Array> DeformConv(const Call& call) {
  const Array& w = call.in(1);
  const auto list = [&](const char* name, int64_t fallback) {
    const auto* given = call.attributes->Ints(name);
    return given ? *given : std::vector<int64_t>(4, fallback);
  };
  const Deformation windows{
      call, list("strides", 1), list("dilations", 1), list("pads", 0), w.shape[2] * w.shape[3], w.shape[3]};
  const int64_t per_group = w.shape[1], groups = std::max<int64_t>(1, call.in(0).shape[1] / per_group);
  const int64_t out_per_group = w.shape[0] / groups;
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& out) {
    double sum = call.has(3) ? call.in(3).values[out[1]] : 0;
    for (int64_t c = 0; c < per_group; ++c) {
      for (int64_t k = 0; k < windows.elements; ++k) {
        sum += w.at({out[1], c, k / w.shape[3], k % w.shape[3]}) *
               windows.Read(out, out[1] / out_per_group * per_group + c, k);
      }
    }
    y.at(out) = sum;
  });
  return {y};
}

}  // namespace

void AddImages(KernelTable& t) {
  t["Resize"] = Resize;
  t["Upsample"] = Upsample;
  t["GridSample"] = GridSample;
  t["AffineGrid"] = AffineGrid;
  t["RoiAlign"] = RoiAlign;
  t["MaxRoiPool"] = MaxRoiPool;
  t["MaxUnpool"] = MaxUnpool;
  t["DeformConv"] = DeformConv;
}

}  // namespace sbp::reference
