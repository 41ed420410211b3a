// Gemma 3, the text model: norms of queries and keys, one layer in six sees all, by a rope of its own.
#include <optional>

#include "base/status.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"
#include "huggingface/gemma2.h"
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
  Decoder decoder = ReadGemmaWithCaps(config, 262'208, std::nullopt, std::nullopt);
  decoder.qk_norms = true;
  const auto period = static_cast<size_t>(config.Size("sliding_window_pattern", 6));
  ReadLayerTypes(
      config, [=](size_t layer) { return (layer + 1) % period != 0; }, decoder);
  ReadRopes(config, decoder);
  return WriteDecoder(config, decoder);
}

}  // namespace sbp::huggingface
