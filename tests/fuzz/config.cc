#include "fuzz/target.h"
#include "huggingface/reader.h"

namespace sbp::fuzz {

// Of a few layers: planning of what was read takes its time.
void RunConfig(std::string_view bytes) {
  const Result<Graph> graph = ReadConfig(bytes, "config.json");
  constexpr size_t kMostOps = 400;
  if (graph.ok() && graph->ops.size() > kMostOps)
    return Require(Verify(*graph, "").ok(), "a graph that is not well formed");
  RequireModel(graph, "config.json");
}

}  // namespace sbp::fuzz
