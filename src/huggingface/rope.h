// Rotary positions: the angles of a config, as transformers' modeling_rope_utils computes them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "huggingface/config.h"

namespace sbp::huggingface {

struct Rope {
  std::vector<float> frequencies;  // radians a position, one for each turned pair of elements
  double factor = 1;               // of cosines and sines
};

// What the family has where its keys say nothing.
struct RopeDefaults {
  double theta = 10'000;
  int64_t head_size = 0;    // elements of a head; those that are turned are `partial` of them
  bool is_partial = false;  // does the family know partial_rotary_factor?
  int64_t max_positions = 2048;
};

// Of "rope_parameters", or of "rope_theta" and "rope_scaling" as they were written before; `layer_type`: the member of
// rope_parameters that is of this kind of layer, "": it has none. Errors stay with `config`: a rope_type that is not
// known, or misses a key.
Rope ReadRope(Config& config, const RopeDefaults& defaults, std::string_view layer_type = "");
// The angles that a base gives without any scaling.
Rope PlainRope(double theta, int64_t size);

// The factor of attention scores of DeepSeek-V3 (yarn with mscale_all_dim); 1 where there is none.
double YarnScoreFactor(Config& config);

}  // namespace sbp::huggingface
