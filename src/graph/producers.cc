#include "graph/producers.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "graph/graph.h"

namespace sbp {

std::vector<bool> FindBuffers(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const auto& [key, name] : graph.metadata) {
    if (key == kBufferName) names.insert(name);
  }
  std::vector<bool> buffers(graph.tensors.size(), false);
  for (size_t t = 0; t < buffers.size() && !names.empty(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    const bool is_stored = tensor.role == TensorRole::kParameter;
    buffers[t] = is_stored && (names.contains(tensor.name) || (tensor.part && names.contains(tensor.part->whole)));
  }
  return buffers;
}

bool IsProducedBy(const Graph& graph, std::string_view producer) {
  return std::ranges::any_of(
      graph.metadata, [&](const auto& entry) { return entry.first == kProducerName && entry.second == producer; });
}

bool TellsConstants(const Graph& graph) {
  return IsProducedBy(graph, kTorchProducer) || IsProducedBy(graph, kStableHloProducer) ||
         IsProducedBy(graph, kConfigProducer);
}

}  // namespace sbp
