// Checkpoints, read for a small training graph.
#include "api/train.h"
#include "fuzz/target.h"
#include "graph/builder.h"

namespace sbp::fuzz {
namespace {

Graph OneStep() {
  GraphBuilder builder("step");
  builder.AddParameter("w", {DType::kF32, {2, 3}});
  builder.AddInput("lr", {DType::kF32, {}});
  builder.DescribeTensor("next/w", {DType::kF32, {2, 3}});
  builder.AddOp("Mul", "update", {"w", "lr"}, {"next/w"});
  builder.AddOutput("next/w");
  Graph graph = builder.Build("step").value();
  graph.ties.push_back({NameIndex(graph).tensor("next/w"), NameIndex(graph).tensor("w")});
  return graph;
}

}  // namespace

void RunCheckpoint(std::string_view bytes) {
  static const Graph graph = OneStep();
  const Result<Checkpoint> checkpoint = ParseCheckpoint(bytes, "input.npz", graph);
  if (!checkpoint.ok()) return RequireRefusal(checkpoint.status());
  Require(checkpoint->steps >= 0, "a negative number of steps");
  Require(checkpoint->states.size() == 1 && checkpoint->states[0].name == "w", "states of another graph");
}

}  // namespace sbp::fuzz
