// Pins files, applied to a small graph.
#include "io/pins.h"

#include "fold/resolve.h"
#include "fuzz/target.h"
#include "graph/builder.h"
#include "problem/problem.h"

namespace sbp::fuzz {
namespace {

Graph TwoLayers() {
  GraphBuilder builder("mlp");
  builder.AddInput("x", {DType::kF32, {8, 16}});
  builder.AddParameter("w1", {DType::kF32, {16, 32}});
  builder.AddParameter("w2", {DType::kF32, {32, 16}});
  builder.AddOp("MatMul", "fc1", {"x", "w1"}, {"h"});
  builder.AddOp("Relu", "act", {"h"}, {"a"});
  builder.AddOp("MatMul", "fc2", {"a", "w2"}, {"y"});
  builder.AddOutput("y");
  return Resolve(builder.Build("mlp").value(), BuiltinRules(), {}).value().graph;
}

}  // namespace

void RunPins(std::string_view bytes) {
  const Result<std::vector<PinText>> texts = ReadPinsFile(bytes, "input.pins");
  if (!texts.ok()) return RequireRefusal(texts.status());
  static const Graph graph = TwoLayers();
  static const Mesh mesh = ParseMesh("data=2,model=2").value();
  Pins pins;
  const Status applied = ApplyPins(*texts, graph, mesh, BuiltinRules(), pins);
  if (!applied.ok()) return RequireRefusal(applied);
  const Result<Problem> problem =
      BuildProblem(graph, BuiltinRules(), mesh, FindPreset("cpu").value(), std::move(pins), {});
  if (!problem.ok()) return RequireRefusal(problem.status());
  for (size_t op = 0; op < problem->num_ops(); ++op) (void)AllowedCandidates(*problem, OpId(static_cast<uint32_t>(op)));
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorPin* standing = problem->demands.standing(TensorId(t));
    if (standing != nullptr) (void)FindCheapestEnd(graph.tensors[t].type, standing->layout, *problem->boxing);
  }
}

}  // namespace sbp::fuzz
