// Gemma 2: norms behind attention and MLP too, soft caps, every second layer has a window.
#include "huggingface/gemma2.h"

#include <cmath>

#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"

namespace sbp::huggingface {

Decoder ReadGemmaWithCaps(Config& config, int64_t vocabulary, std::optional<double> score_cap,
                          std::optional<double> logit_cap) {
  Decoder decoder = ReadCommon(config, {.vocabulary = vocabulary,
                                        .hidden = 2304,
                                        .feed_forward = 9216,
                                        .layers = 26,
                                        .heads = 8,
                                        .kv_heads = 4,
                                        .head_size = 256,
                                        .tied = true,
                                        .padding = 0,
                                        .activation_key = "hidden_activation",
                                        .activation = "gelu_pytorch_tanh"});
  decoder.unit_offset = decoder.norms_behind = true;
  decoder.embedding_scale = std::sqrt(static_cast<double>(decoder.hidden));
  decoder.qkv_bias = decoder.output_bias = config.Flag("attention_bias", false);
  decoder.score_scale = 1 / std::sqrt(static_cast<double>(config.Size("query_pre_attn_scalar", 256)));
  decoder.score_cap = config.OptionalNumber("attn_logit_softcapping", score_cap);
  decoder.logit_cap = config.OptionalNumber("final_logit_softcapping", logit_cap);
  return decoder;
}

Result<Graph> ReadGemma2(Config& config) {
  Decoder decoder = ReadGemmaWithCaps(config, 256'000, 50, 30);
  ReadLayerTypes(
      config, [](size_t layer) { return layer % 2 == 0; }, decoder);
  ReadOneRope(config, 10'000, 8192, decoder);
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
