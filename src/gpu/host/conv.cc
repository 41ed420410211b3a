#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "gpu/host/compute.h"
#include "gpu/host/elements.h"
#include "sbp/shard_math.h"

namespace sbp::gpu::host {
namespace {

// Three spatial dimensions, the leading ones of size 1 where there are fewer.
using Three = std::array<int64_t, 3>;

Three AsThree(const std::vector<int64_t>& values, size_t skip, int64_t missing) {
  Three three{missing, missing, missing};
  const size_t n = values.size() - skip;
  for (size_t d = 0; d < n; ++d) three[3 - n + d] = values[skip + d];
  return three;
}

struct Sizes {
  Three x, w, y, stride, dilation, pad;
  int64_t channels, out_channels;  // of one group
};

// The places of the result along a dimension at which the weight's element `at` meets the input.
struct Range {
  int64_t begin, end;
};
Range Meeting(const Sizes& s, size_t d, int64_t at) {
  const int64_t first = at * s.dilation[d] - s.pad[d];  // where it stands for place 0
  const int64_t begin = first >= 0 ? 0 : (-first + s.stride[d] - 1) / s.stride[d];
  const int64_t end = first >= s.x[d] ? 0 : (s.x[d] - 1 - first) / s.stride[d] + 1;
  return {begin, std::min(end, s.y[d])};
}

// One plane of the result: out channel's weights over all channels of its group.
template <typename T>
void ConvolvePlane(const Sizes& s, const T* x, const T* w, T* y) {
  const int64_t x_plane = s.x[0] * s.x[1] * s.x[2];
  for (int64_t c = 0; c < s.channels; ++c, x += x_plane) {
    for (int64_t k = 0; k < s.w[0] * s.w[1] * s.w[2]; ++k) {
      const T factor = *w++;
      const Three at{k / (s.w[1] * s.w[2]), k / s.w[2] % s.w[1], k % s.w[2]};
      const std::array<Range, 3> places{Meeting(s, 0, at[0]), Meeting(s, 1, at[1]), Meeting(s, 2, at[2])};
      const auto source = [&](size_t d, int64_t place) {
        return place * s.stride[d] - s.pad[d] + at[d] * s.dilation[d];
      };
      for (int64_t i = places[0].begin; i < places[0].end; ++i) {
        for (int64_t j = places[1].begin; j < places[1].end; ++j) {
          const T* from = x + (source(0, i) * s.x[1] + source(1, j)) * s.x[2];
          T* to = y + (i * s.y[1] + j) * s.y[2];
          for (int64_t o = places[2].begin; o < places[2].end; ++o) to[o] += factor * from[source(2, o)];
        }
      }
    }
  }
}

template <typename T>
void Convolve(const ConvCall& call, const Sizes& s) {
  const auto count = [](const Shape& shape) {
    int64_t n = 1;
    for (const int64_t size : shape) n *= size;
    return n;
  };
  const std::vector<T> x = ReadElements<T>(call.dtype, call.x, count(call.x_shape));
  const std::vector<T> w = ReadElements<T>(call.dtype, call.w, count(call.w_shape));
  std::vector<T> y(static_cast<size_t>(count(call.y_shape)), T{0});
  const int64_t x_plane = s.x[0] * s.x[1] * s.x[2], y_plane = s.y[0] * s.y[1] * s.y[2];
  const int64_t weights = s.channels * s.w[0] * s.w[1] * s.w[2];
  for (int64_t plane = 0; plane < call.y_shape[0] * call.y_shape[1]; ++plane) {
    const int64_t n = plane / call.y_shape[1], m = plane % call.y_shape[1];
    const int64_t channel = n * call.x_shape[1] + m / s.out_channels * s.channels;
    ConvolvePlane(s, x.data() + channel * x_plane, w.data() + m * weights, y.data() + plane * y_plane);
  }
  WriteElements(call.dtype, y, call.y);
}

Sizes SizesOf(const ConvCall& call) {
  return {AsThree(call.x_shape, 2, 1),
          AsThree(call.w_shape, 2, 1),
          AsThree(call.y_shape, 2, 1),
          AsThree(call.strides, 0, 1),
          AsThree(call.dilations, 0, 1),
          AsThree(call.pads_begin, 0, 0),
          call.w_shape[1],
          call.w_shape[0] / call.groups};
}

}  // namespace

bool HasConv(const ConvCall& call) {
  const Sizes s = SizesOf(call);
  for (size_t d = 0; d < 3; ++d) {
    const int64_t span = (s.w[d] - 1) * s.dilation[d] + 1;
    const int64_t room = s.x[d] + 2 * s.pad[d] - span;
    if (s.pad[d] < 0 || room < 0 || room / s.stride[d] + 1 != s.y[d]) return false;
  }
  return true;
}

Result<bool> Conv(const ConvCall& call) {
  if (!IsProductType(call.dtype)) return Defect("no convolution of this element type");
  if (!HasConv(call)) return false;
  if (call.dtype == DType::kF64)
    Convolve<double>(call, SizesOf(call));
  else
    Convolve<float>(call, SizesOf(call));
  return true;
}

}  // namespace sbp::gpu::host
