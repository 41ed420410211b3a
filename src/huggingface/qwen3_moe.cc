// Qwen3 with experts in all layers, or in every decoder_sparse_step-th that is not in mlp_only_layers.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"

namespace sbp::huggingface {

Result<Graph> ReadQwen3Moe(Config& config) {
  Decoder decoder =
      ReadCommon(config, {.vocabulary = 151'936, .hidden = 2048, .feed_forward = 6144, .layers = 24, .kv_heads = 4});
  decoder.qkv_bias = decoder.output_bias = config.Flag("attention_bias", false);
  decoder.qk_norms = true;
  const bool slides = config.Has("use_sliding_window") && config.Flag("use_sliding_window", false);
  if (slides) ReadWindow(config, 4096, decoder);
  ReadOneRope(config, 10'000, 32'768, decoder);
  Experts experts;
  experts.width = config.Size("moe_intermediate_size", 768);
  experts.router.experts = config.Size(config.OneOf({"num_experts", "num_local_experts"}), 128);
  experts.router.top_k = config.Count("num_experts_per_tok", 1, experts.router.experts, 8);
  experts.router.normalised = config.Flag("norm_topk_prob", false);
  experts.router.wide = false;
  decoder.experts = experts;
  const auto step = static_cast<size_t>(config.Size("decoder_sparse_step", 1));
  const std::vector<int64_t> dense = config.Ints("mlp_only_layers");
  for (size_t i = 0; i < decoder.layers.size(); ++i) {
    decoder.layers[i].sparse = (i + 1) % step == 0 && std::ranges::find(dense, static_cast<int64_t>(i)) == dense.end();
  }
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
