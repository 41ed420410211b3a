// Gemma 3, the text model: norms of queries and keys, one layer in six sees all, by a rope of its own.
#include <cmath>

#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"
#include "huggingface/rope.h"

namespace sbp::huggingface {
namespace {

// The layers with a window turn by a base of their own, without scaling.
void ReadRopes(Config& config, Decoder& decoder) {
  const RopeDefaults all{.theta = 1'000'000,
                         .head_size = decoder.head_size,
                         .max_positions = config.Size("max_position_embeddings", 131'072)};
  const Json* nested = config.Find("rope_parameters");
  const bool has_kinds = nested != nullptr && nested->is_object() && nested->contains("sliding_attention");
  RopeDefaults local = all;
  local.theta = 10'000;
  decoder.ropes = {ReadRope(config, all, "full_attention"),
                   has_kinds ? ReadRope(config, local, "sliding_attention")
                             : PlainRope(config.Number("rope_local_base_freq", 10'000), decoder.head_size)};
  for (LayerKind& layer : decoder.layers) layer.rope = layer.window > 0 ? 1 : 0;
}

}  // namespace

Result<Graph> ReadGemma3(Config& config) {
  CommonDefaults defaults{.vocabulary = 262'208,
                          .hidden = 2304,
                          .feed_forward = 9216,
                          .layers = 26,
                          .heads = 8,
                          .kv_heads = 4,
                          .head_size = 256,
                          .tied = true,
                          .activation_key = "hidden_activation",
                          .activation = "gelu_pytorch_tanh"};
  Decoder decoder = ReadCommon(config, defaults);
  decoder.unit_offset = decoder.norms_behind = decoder.qk_norms = true;
  decoder.embedding_scale = std::sqrt(static_cast<double>(decoder.hidden));
  decoder.qkv_bias = decoder.output_bias = config.Flag("attention_bias", false);
  decoder.score_scale = 1 / std::sqrt(static_cast<double>(config.Size("query_pre_attn_scalar", 256)));
  decoder.score_cap = config.OptionalNumber("attn_logit_softcapping");
  decoder.logit_cap = config.OptionalNumber("final_logit_softcapping");
  const auto period = static_cast<size_t>(config.Size("sliding_window_pattern", 6));
  ReadLayerTypes(
      config, [=](size_t layer) { return (layer + 1) % period != 0; }, decoder);
  ReadRopes(config, decoder);
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
