// ONNX's multi-device annotations, and shardings of StableHLO, as what a plan begins with: a mesh, and pins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/cluster.h"
#include "base/status.h"
#include "graph/graph.h"
#include "onnx/annotations.h"
#include "pipeline/request.h"
#include "sbp/mesh.h"
#include "stablehlo/shardings.h"

namespace sbp {

// The mesh that the annotations of a model are for; nothing where none can be told from them. That specs are not right
// is said when they are read as pins.
std::optional<Mesh> MeshOfAnnotations(const ShardingAnnotations& annotations);

// Adds the annotations of a model, which was read from `path`, as pins behind those of the request; those of the first
// configuration where there are several. `note` is told. Errors (kBadInput): they are not right, or not for this mesh.
Status AddAnnotations(const ShardingAnnotations& annotations, const std::string& path, PlanRequest& request,
                      const NoteSink& note = nullptr);

// Pins the tensors of `graph`, read from the same file, as the file's shardings say; `note` is told. Errors
// (kBadInput): as PinShardings.
Status AddShardings(const Shardings& shardings, const Mesh& mesh, Graph& graph, const NoteSink& note = nullptr);

// Says what of the annotations plans have nothing to do with: stages of pipelines, subgraphs.
std::vector<std::string> NotesOfUnread(const ShardingAnnotations& annotations);

}  // namespace sbp
