// Mixtral (Jiang et al. 2024): Mistral whose MLPs are experts.
#include <optional>

#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"

namespace sbp::huggingface {

Result<Graph> ReadMixtral(Config& config) {
  Decoder decoder = ReadCommon(config, {.feed_forward = 14'336, .kv_heads = 8, .epsilon = 1e-5});
  ReadWindow(config, std::nullopt, decoder);
  ReadOneRope(config, 1'000'000, 131'072, decoder);
  Experts experts;
  experts.width = decoder.feed_forward;
  experts.router.experts = config.Size(config.OneOf({"num_local_experts", "num_experts"}), 8);
  experts.router.top_k = config.Count("num_experts_per_tok", 1, experts.router.experts, 2);
  decoder.experts = experts;
  for (LayerKind& layer : decoder.layers) layer.sparse = true;
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
