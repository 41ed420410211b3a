// The families of config.json, by its model_type. One family = one file + one row.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "graph/graph.h"
#include "huggingface/config.h"

namespace sbp::huggingface {

struct FamilyRow {
  std::string_view model_type;
  // The graph that transformers' ...ForCausalLM runs without a cache: input_ids (batch, seq) in, logits out. Parameters
  // have the modules' names. Errors (kBadInput): `config.status`; sizes that make no graph.
  Result<Graph> (*read)(Config& config);
};
std::span<const FamilyRow> AllFamilies();

Result<Graph> ReadDeepseekV3(Config& config);
Result<Graph> ReadGemma(Config& config);
Result<Graph> ReadGemma2(Config& config);
Result<Graph> ReadGemma3(Config& config);
Result<Graph> ReadGpt2(Config& config);
Result<Graph> ReadLlama(Config& config);
Result<Graph> ReadMistral(Config& config);
Result<Graph> ReadMixtral(Config& config);
Result<Graph> ReadPhi3(Config& config);
Result<Graph> ReadQwen2(Config& config);
Result<Graph> ReadQwen3(Config& config);
Result<Graph> ReadQwen3Moe(Config& config);

}  // namespace sbp::huggingface
