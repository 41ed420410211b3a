// Who wrote a model, as its metadata say: readers other than ONNX's name themselves so, ONNX files name their exporter.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sbp {

// The key in Graph::metadata.
inline constexpr std::string_view kProducerName = "producer_name";
inline constexpr std::string_view kTorchProducer = "torch.export";  // a .pt2 file
inline constexpr std::string_view kStableHloProducer = "stablehlo";
inline constexpr std::string_view kConfigProducer = "config.json of Hugging Face";

// A key of Graph::metadata, once for each: a tensor of role kParameter that the program's signature calls no parameter
// (a table of positions, running statistics), whose values are not in the graph.
inline constexpr std::string_view kBufferName = "buffer";
// By tensor: is it, or is it part of, such a buffer?
std::vector<bool> FindBuffers(const Graph& graph);

bool IsProducedBy(const Graph& graph, std::string_view producer);

// Is it known of such a model which of its numbers are parameters? Then what has a value in the graph is a constant of
// the program (a table of angles, an epsilon). ONNX does not tell.
bool TellsConstants(const Graph& graph);

}  // namespace sbp
