// Phi-3: queries, keys and values are one product, and so are the two of the MLP.
#include <optional>

#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"
#include "huggingface/rope.h"

namespace sbp::huggingface {

Result<Graph> ReadPhi3(Config& config) {
  Decoder decoder = ReadCommon(
      config, {.vocabulary = 32'064, .hidden = 3072, .feed_forward = 8192, .epsilon = 1e-5, .padding = 32'000});
  decoder.fused = true;
  ReadWindow(config, std::nullopt, decoder);
  decoder.ropes = {ReadRope(config, {.theta = 10'000,
                                     .head_size = decoder.head_size,
                                     .is_partial = true,
                                     .max_positions = config.Size("max_position_embeddings", 4096)})};
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
