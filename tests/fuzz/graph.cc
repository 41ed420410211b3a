// Graph documents in the three encodings.
#include "graph/graph.h"

#include "fuzz/target.h"
#include "io/documents.h"

namespace sbp::fuzz {

void RunGraph(std::string_view bytes) {
  const Result<Graph> graph = ReadGraph(bytes, "input");
  if (!graph.ok()) return RequireRefusal(graph.status());
  const Status verified = Verify(*graph, "input");
  Require(verified.ok(), verified.message());
  const std::string json = WriteGraph(*graph, Encoding::kJson);
  for (const Encoding encoding : {Encoding::kJson, Encoding::kPrototxt, Encoding::kBinary}) {
    const Result<Graph> again = ReadGraph(WriteGraph(*graph, encoding), "written");
    Require(again.ok(), again.status().message());
    Require(WriteGraph(*again, Encoding::kJson) == json, "the graph changed in a round trip");
  }
  ResolveAndPlan(*graph);
}

}  // namespace sbp::fuzz
