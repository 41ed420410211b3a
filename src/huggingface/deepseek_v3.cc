// DeepSeek-V3 (arXiv 2412.19437): latent attention, experts chosen by groups, one that all tokens go through.
#include <cmath>
#include <cstdint>

#include "base/status.h"
#include "base/text.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"
#include "huggingface/rope.h"

namespace sbp::huggingface {
namespace {

LatentAttention ReadLatent(Config& config) {
  LatentAttention latent;
  // null: queries are made at once.
  const bool has_query_rank = config.Has("q_lora_rank") || !config.Contains("q_lora_rank");
  latent.query_rank = has_query_rank ? config.Size("q_lora_rank", 1536) : 0;
  latent.key_value_rank = config.Size("kv_lora_rank", 512);
  latent.rotary = config.Size("qk_rope_head_dim", 64);
  latent.plain = config.Size("qk_nope_head_dim", 128);
  latent.value = config.Size("v_head_dim", 128);
  latent.interleaved = config.Flag("rope_interleave", true);
  return latent;
}

Experts ReadExperts(Config& config) {
  Experts experts;
  Router& router = experts.router;
  router.kind = Router::Kind::kSigmoid;
  router.experts = config.Size(config.OneOf({"n_routed_experts", "num_local_experts"}), 256);
  router.top_k = config.Count("num_experts_per_tok", 1, router.experts, 8);
  router.groups = config.Count("n_group", 1, router.experts, 8);
  router.kept = config.Count("topk_group", 1, router.groups, 4);
  router.normalised = config.Flag("norm_topk_prob", true);
  router.scale = config.Number("routed_scaling_factor", 2.5);
  experts.width = config.Size("moe_intermediate_size", 2048);
  experts.shared_width = experts.width * config.Size("n_shared_experts", 1);
  const int64_t of_group = router.experts / router.groups;
  if (router.experts % router.groups != 0 || of_group < 2) {
    config.Refuse("n_group", StrCat(router.groups, " groups do not divide n_routed_experts, ", router.experts,
                                    ", into two or more each"));
  } else if (router.top_k > router.kept * of_group) {
    config.Refuse("num_experts_per_tok",
                  StrCat(router.top_k, " is more than the ", router.kept * of_group, " experts of topk_group groups"));
  }
  return experts;
}

}  // namespace

Result<Graph> ReadDeepseekV3(Config& config) {
  CommonDefaults defaults{.vocabulary = 129'280, .hidden = 7168, .feed_forward = 18'432, .layers = 61, .heads = 128};
  defaults.has_head_size = false;  // latent attention has sizes of its own
  Decoder decoder = ReadCommon(config, defaults);
  decoder.qkv_bias = decoder.output_bias = config.Flag("attention_bias", false);
  decoder.latent = ReadLatent(config);
  decoder.head_size = decoder.latent->rotary;
  const double size = static_cast<double>(decoder.latent->plain + decoder.latent->rotary);
  decoder.score_scale = YarnScoreFactor(config) / std::sqrt(size);
  ReadOneRope(config, 10'000, 4096, decoder);
  decoder.experts = ReadExperts(config);
  const int64_t dense = config.Count("first_k_dense_replace", 0, kMostLayers, 3);
  for (size_t i = 0; i < decoder.layers.size(); ++i) decoder.layers[i].sparse = static_cast<int64_t>(i) >= dense;
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
