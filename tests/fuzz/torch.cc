#include "fuzz/target.h"
#include "io/documents.h"
#include "io/zip.h"
#include "torch/reader.h"

namespace sbp::fuzz {

// An archive; or, where the input is a text, the program in one: mutations of archives seldom have a right checksum.
void RunTorch(std::string_view bytes) {
  std::string archive(bytes);
  if (bytes.starts_with('{')) {
    Result<std::string> zip = WriteZip({{"m/models/model.json", std::string(bytes)}});
    Require(zip.ok(), zip.status().message());
    archive = *std::move(zip);
  }
  const Result<Graph> graph = ReadTorch(archive, "input.pt2");
  if (!graph.ok()) return RequireRefusal(graph.status());
  const Status verified = Verify(*graph, "input.pt2");
  Require(verified.ok(), verified.message());
  const std::string binary = WriteGraph(*graph, Encoding::kBinary);
  const Result<Graph> again = ReadGraph(binary, "written");
  Require(again.ok(), again.status().message());
  Require(WriteGraph(*again, Encoding::kBinary) == binary, "the model changed when it was written as a graph");
  ResolveAndPlan(*graph);
}

}  // namespace sbp::fuzz
