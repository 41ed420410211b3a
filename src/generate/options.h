// How large a generated graph or problem is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/dtype.h"

namespace sbp {

// How a decoder knows where a token stands.
enum class PositionKind : uint8_t {
  kRotary,   // queries and keys turned by their position (Su et al. 2021)
  kLearned,  // a table of (sequence, hidden) added to the embedding
  kAlibi,    // a bias of attention scores, linear in the distance (Press et al. 2021)
};

// Of a decoder; the defaults are Llama-3-8B's, and 0 or nothing stands for what the family has.
struct DecoderSizes {
  int64_t layers = 32, hidden = 4096, heads = 32;
  int64_t feed_forward = 0, kv_heads = 0, vocabulary = 0;
  int64_t batch = 1, sequence = 8192;
  DType dtype = DType::kBF16;
  std::optional<PositionKind> positions;
  std::optional<bool> tied;  // the head's weight is the embedding's
  // Of moe: each token is sent to top_k of the experts, each an MLP of feed_forward; shared_feed_forward: the width of
  // one that all tokens go through, 0: none.
  int64_t experts = 0, top_k = 0, shared_feed_forward = 0;
};

// Of a layout problem (layout_problem.h).
struct ProblemSizes {
  int64_t devices = 32;  // a power of two
  int32_t axes = 2;      // of the mesh, 1 to 3
  double slack = 0.1;    // the limit of memory is the smallest peak and this share
};

struct GenerateOptions {
  int64_t ops = 0;    // at least this many; whole layers. 0: as many layers as `sizes` says
  uint64_t seed = 0;  // only the random family and layout problems have choices
  DecoderSizes sizes = {};
  ProblemSizes problem = {};
  std::function<bool()> cancelled = nullptr;  // is the graph no longer wanted? Asked between layers
};

}  // namespace sbp
