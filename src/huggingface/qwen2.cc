// Qwen2 and Qwen2.5: Llama with biases of queries, keys and values.
#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"

namespace sbp::huggingface {

Result<Graph> ReadQwen2(Config& config) {
  Decoder decoder = ReadCommon(config, {.vocabulary = 151'936, .feed_forward = 22'016, .kv_heads = 32});
  decoder.qkv_bias = true;
  ReadUpperWindows(config, decoder);
  ReadOneRope(config, 10'000, 32'768, decoder);
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
