#include "huggingface/safetensors.h"

#include "fuzz/target.h"

namespace sbp::fuzz {

void RunSafetensors(std::string_view bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  const Result<StoredWeights> weights = ReadSafetensorsHeader(bytes, size);
  if (!weights.ok()) return RequireRefusal(weights.status());
  int64_t held = 0;
  for (const auto& [name, weight] : *weights) {
    Require(weight.length == weight.type.num_bytes(), "bytes that do not fit the type");
    Require(weight.offset >= 8 && weight.offset + weight.length <= size, "bytes outside of the file");
    held += weight.length;
  }
  Require(held <= size, "tensors that overlap");
}

}  // namespace sbp::fuzz
