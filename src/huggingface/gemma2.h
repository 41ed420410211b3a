// What Gemma 2 and Gemma 3 have in common.
#pragma once

#include <cstdint>
#include <optional>

#include "huggingface/config.h"
#include "huggingface/decoder.h"

namespace sbp::huggingface {

// Norms before and behind attention and MLP, a scale and caps of scores and logits. The caps are those where the keys
// are missing; a key that is null has none. Layers and ropes are left to the family.
Decoder ReadGemmaWithCaps(Config& config, int64_t vocabulary, std::optional<double> score_cap,
                          std::optional<double> logit_cap);

}  // namespace sbp::huggingface
