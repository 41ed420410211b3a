#include "fuzz/target.h"
#include "io/documents.h"
#include "onnx/reader.h"

namespace sbp::fuzz {

void RunOnnx(std::string_view bytes) {
  const Result<Graph> graph = ReadOnnx(bytes, "input.onnx");
  (void)ReadOnnxTensor(bytes, "input.pb");
  if (!graph.ok()) return RequireRefusal(graph.status());
  const Status verified = Verify(*graph, "input.onnx");
  Require(verified.ok(), verified.message());
  const std::string binary = WriteGraph(*graph, Encoding::kBinary);
  const Result<Graph> again = ReadGraph(binary, "written");
  Require(again.ok(), again.status().message());
  Require(WriteGraph(*again, Encoding::kBinary) == binary, "the model changed when it was written as a graph");
  ResolveAndPlan(*graph);
}

}  // namespace sbp::fuzz
