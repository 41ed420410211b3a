// How large a generated graph is.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace sbp {

// Of a decoder; the defaults are Llama-3-8B's.
struct DecoderSizes {
  int64_t layers = 32, hidden = 4096, feed_forward = 14336, heads = 32, kv_heads = 8, vocabulary = 128256;
  int64_t batch = 1, sequence = 8192;
  DType dtype = DType::kBF16;
};

struct GenerateOptions {
  int64_t ops = 0;    // at least this many; whole layers. 0: as many layers as `sizes` says
  uint64_t seed = 0;  // only the random family has choices
  DecoderSizes sizes = {};
};

}  // namespace sbp
