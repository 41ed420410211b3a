// Qwen3, dense: norms of the heads of queries and keys.
#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"

namespace sbp::huggingface {

Result<Graph> ReadQwen3(Config& config) {
  Decoder decoder =
      ReadCommon(config, {.vocabulary = 151'936, .feed_forward = 22'016, .kv_heads = 32, .head_size = 128});
  decoder.qkv_bias = decoder.output_bias = config.Flag("attention_bias", false);
  decoder.qk_norms = true;
  ReadUpperWindows(config, decoder);
  ReadOneRope(config, 10'000, 32'768, decoder);
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
