// Gemma (2024): norms scale by 1 + weight, embeddings by the root of their width; the head is tied.
#include <cmath>

#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"

namespace sbp::huggingface {
namespace {

constexpr CommonDefaults kGemmaDefaults{.vocabulary = 256'000,
                                        .hidden = 3072,
                                        .feed_forward = 24'576,
                                        .layers = 28,
                                        .heads = 16,
                                        .kv_heads = 16,
                                        .head_size = 256,
                                        .tied = true,
                                        .padding = 0,
                                        .activation = "gelu_pytorch_tanh"};

}  // namespace

Result<Graph> ReadGemma(Config& config) {
  Decoder decoder = ReadCommon(config, kGemmaDefaults);
  decoder.unit_offset = true;
  decoder.embedding_scale = std::sqrt(static_cast<double>(decoder.hidden));
  decoder.qkv_bias = decoder.output_bias = config.Flag("attention_bias", false);
  ReadOneRope(config, 10'000, 8192, decoder);
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
