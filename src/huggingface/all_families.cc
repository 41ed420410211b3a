#include <array>
#include <span>

#include "huggingface/families.h"

namespace sbp::huggingface {
namespace {

constexpr std::array<FamilyRow, 12> kFamilies = {{
    {"deepseek_v3", ReadDeepseekV3},
    {"gemma", ReadGemma},
    {"gemma2", ReadGemma2},
    {"gemma3_text", ReadGemma3},
    {"gpt2", ReadGpt2},
    {"llama", ReadLlama},
    {"mistral", ReadMistral},
    {"mixtral", ReadMixtral},
    {"phi3", ReadPhi3},
    {"qwen2", ReadQwen2},
    {"qwen3", ReadQwen3},
    {"qwen3_moe", ReadQwen3Moe},
}};

}  // namespace

std::span<const FamilyRow> AllFamilies() { return kFamilies; }

}  // namespace sbp::huggingface
