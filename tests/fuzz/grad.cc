// The flags of `grad`, one a line as "NAME VALUE", for a small model; the graph that comes of them is well formed, and
// small ones are planned.
#include "grad/grad.h"

#include "base/text.h"
#include "fold/resolve.h"
#include "fuzz/target.h"
#include "graph/builder.h"
#include "graph/kept.h"

namespace sbp::fuzz {
namespace {

constexpr size_t kMaxFlags = 12;
constexpr size_t kMaxOps = 400;

Graph Classifier() {
  GraphBuilder builder("classifier");
  builder.AddInput("x", {DType::kF32, {4, 6}});
  builder.AddInput("ids", {DType::kI64, {4}});
  builder.AddParameter("table", {DType::kF32, {5, 6}});
  builder.AddParameter("w1", {DType::kF32, {6, 8}});
  builder.AddParameter("b1", {DType::kF32, {8}});
  builder.AddParameter("w2", {DType::kF32, {8, 3}});
  builder.AddOp("Gather", "embed", {"table", "ids"}, {"e"}, {}, "net");
  builder.AddOp("Add", "join", {"x", "e"}, {"s"}, {}, "net");
  builder.AddOp("MatMul", "fc1", {"s", "w1"}, {"h"}, {}, "net/fc1");
  builder.AddOp("Add", "bias", {"h", "b1"}, {"hb"}, {}, "net/fc1");
  builder.AddOp("Gelu", "act", {"hb"}, {"a"}, {}, "net");
  builder.AddOp("Dropout", "drop", {"a"}, {"d"}, {}, "net");
  builder.AddOp("MatMul", "fc2", {"d", "w2"}, {"logits"}, {}, "net/fc2");
  builder.AddOutput("logits");
  return Resolve(builder.Build("classifier").value(), BuiltinRules(), {.keep_floats = true}).value().graph;
}

std::vector<std::pair<std::string, std::string>> FlagsIn(std::string_view bytes) {
  std::vector<std::pair<std::string, std::string>> flags;
  while (!bytes.empty() && flags.size() < kMaxFlags) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    const size_t space = std::min(line.size(), line.find(' '));
    flags.emplace_back(line.substr(0, space), line.substr(std::min(line.size(), space + 1)));
  }
  return flags;
}

}  // namespace

void RunGrad(std::string_view bytes) {
  const Result<GradRequest> request = ReadFlags(FlagsIn(bytes));
  if (!request.ok()) return RequireRefusal(request.status());
  Require(ReadFlags(FlagsOf(*request)).ok(), "flags that are not read again");
  static const Graph graph = Classifier();
  const Result<GradGraph> made = MakeGradGraph(graph, BuiltinRules(), *request);
  if (!made.ok()) return RequireRefusal(made.status());
  const Status verified = Verify(made->graph, "training graph");
  Require(verified.ok(), verified.message());
  Require(made->graph.ops.size() <= kMaxOps, "a training graph much larger than its model");
  for (const KeptTensor& kept : FindKept(made->graph)) Require(!kept.readers.empty(), "kept, and nobody reads it");
  ResolveAndPlan(made->graph);
}

}  // namespace sbp::fuzz
