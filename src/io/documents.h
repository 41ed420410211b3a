// Documents: graph, cluster and plan in three encodings (JSON, prototxt, binary), recognised by content.
// Formats: ../schemas/*.proto and ../schemas/README.md.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "io/file.h"
#include "plan/plan.h"

namespace sbp {

enum class Encoding { kJson, kPrototxt, kBinary };
enum class DocumentKind { kOnnx, kTorch, kConfig, kGraph, kCluster, kPlan };

// By extension: .json, .prototxt (.pbtxt, .txtpb), .pb (.bin); error otherwise, listing them. "-" is JSON.
Result<Encoding> EncodingForPath(std::string_view path);

// What a file is, by its first bytes and fields. Every document of ours carries its kind ("sbp_plan.graph.v1", ...) as
// its first field. Error: unrecognised, saying what was seen and what is expected.
struct DocumentInfo {
  DocumentKind kind;
  Encoding encoding;
};
Result<DocumentInfo> Recognise(std::string_view bytes, std::string_view where);

// Errors carry file:line:col for the two text encodings, the field path for binary; unknown fields are errors with the
// nearest name. Reading never trusts sizes: bounded memory, no nesting beyond 200 messages.
Result<Graph> ReadGraph(std::string_view bytes, std::string_view where);  // not ONNX or torch: see their reader.h
Result<Cluster> ReadCluster(std::string_view bytes, std::string_view where);
Result<Plan> ReadPlan(std::string_view bytes, std::string_view where);

// Loss-free: Read(Write(x)) == x, and equal documents give equal bytes. Two normalisations: tensors are numbered inputs
// first, then parameters, then in the order in which ops write them; bytes of names that are not UTF-8 are escaped.
std::string WriteGraph(const Graph& graph, Encoding encoding);
// The same in pieces; a binary one is never whole in memory, and may be of any size.
void WriteGraph(const Graph& graph, Encoding encoding, const ByteSink& sink);
std::string WriteCluster(const Cluster& cluster, Encoding encoding);
std::string WritePlan(const Plan& plan, Encoding encoding);

}  // namespace sbp
