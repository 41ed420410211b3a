// Mistral 7B (Jiang et al. 2023): Llama whose attention may see a window only.
#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"

namespace sbp::huggingface {

Result<Graph> ReadMistral(Config& config) {
  Decoder decoder = ReadCommon(config, {.feed_forward = 14'336, .kv_heads = 8});
  ReadWindow(config, 4096, decoder);
  ReadOneRope(config, 10'000, 131'072, decoder);
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
