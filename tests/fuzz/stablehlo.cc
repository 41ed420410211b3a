#include "fuzz/target.h"
#include "stablehlo/reader.h"
#include "stablehlo/shardings.h"

namespace sbp::fuzz {

void RunStableHlo(std::string_view bytes) {
  Result<Graph> graph = ReadStableHlo(bytes, "input.mlir");
  const Result<Shardings> shardings = ReadShardings(bytes, "input.mlir");
  if (graph.ok() && shardings.ok()) {
    Graph pinned = *graph;
    const Mesh mesh = MeshOfShardings(*shardings).value_or(Mesh{.axes = {{"x", 2}}});
    if (!PinShardings(*shardings, mesh, pinned).ok()) pinned = *graph;  // an error is an answer
  }
  RequireModel(std::move(graph), "input.mlir");
}

}  // namespace sbp::fuzz
