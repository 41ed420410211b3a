// Who wrote a model, as its metadata say: readers other than ONNX's name themselves so, ONNX files name their exporter.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace sbp {

// The key in Graph::metadata.
inline constexpr std::string_view kProducerName = "producer_name";
inline constexpr std::string_view kTorchProducer = "torch.export";  // a .pt2 file
inline constexpr std::string_view kStableHloProducer = "stablehlo";
inline constexpr std::string_view kConfigProducer = "config.json of Hugging Face";

bool IsProducedBy(const Graph& graph, std::string_view producer);

// Is it known of such a model which of its numbers are parameters? Then what has a value in the graph is a constant of
// the program (a table of angles, an epsilon). ONNX does not tell.
bool TellsConstants(const Graph& graph);

}  // namespace sbp
