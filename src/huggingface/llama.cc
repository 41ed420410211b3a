// Llama 1 to 3 (Touvron et al. 2023): grouped queries, rotary positions, a gated MLP.
#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"

namespace sbp::huggingface {

Result<Graph> ReadLlama(Config& config) {
  Decoder decoder = ReadCommon(config, {});
  decoder.qkv_bias = decoder.output_bias = config.Flag("attention_bias", false);
  decoder.mlp_bias = config.Flag("mlp_bias", false);
  ReadOneRope(config, 10'000, 2048, decoder);
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
