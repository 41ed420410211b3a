// Where the elements of a resized image lie in the original, and the weights of their neighbours, as ONNX's Resize
// defines them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sbp {

// What is asked for. Lists are empty where they are not given; those of scales, sizes and roi follow `axes`.
struct ResizeQuestion {
  std::string mode = "nearest";      // or "linear", "cubic"
  std::string where = "half_pixel";  // coordinate_transformation_mode
  std::string nearest = "round_prefer_floor";
  std::string policy = "stretch";  // keep_aspect_ratio_policy
  double cubic = -0.75;
  bool antialias = false, exclude_outside = false;
  std::vector<int64_t> in, out;  // the whole shapes, of one rank
  std::vector<int64_t> axes;     // negative ones count from the end; ignored unless has_axes: all dimensions
  bool has_axes = false;
  std::vector<double> scales, sizes;
  std::vector<double> roi;  // begins, then ends; of tf_crop_and_resize

  bool crops() const { return where == "tf_crop_and_resize"; }
};

// One resized dimension. `begin`, `end`: the region in parts of the input, for tf_crop_and_resize.
struct ResizedDim {
  int dim = 0;
  int64_t in = 0, out = 0;
  double scale = 1, begin = 0, end = 1;
};
// The dimensions that are resized or cropped, in their order.
std::vector<ResizedDim> FindResizedDims(const ResizeQuestion& question);

// Per output element as many taps as any of them needs; those left over have weight 0.
struct ResizeTaps {
  size_t count = 0;
  std::vector<int64_t> index;  // [out, count]: in the input
  std::vector<double> weight;  // [out, count]
  std::vector<bool> outside;   // [out]: beyond the input of tf_crop_and_resize
};
ResizeTaps FindResizeTaps(const ResizeQuestion& question, const ResizedDim& dim);

}  // namespace sbp
