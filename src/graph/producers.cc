#include "graph/producers.h"

#include <algorithm>
#include <string_view>

#include "graph/graph.h"

namespace sbp {

bool IsProducedBy(const Graph& graph, std::string_view producer) {
  return std::ranges::any_of(
      graph.metadata, [&](const auto& entry) { return entry.first == kProducerName && entry.second == producer; });
}

bool TellsConstants(const Graph& graph) {
  return IsProducedBy(graph, kTorchProducer) || IsProducedBy(graph, kStableHloProducer) ||
         IsProducedBy(graph, kConfigProducer);
}

}  // namespace sbp
