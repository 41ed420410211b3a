#include "api/annotation_pins.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "annotation/check_specs.h"
#include "annotation/layout_pins.h"
#include "annotation/placement.h"
#include "base/text.h"
#include "check/findings.h"
#include "check/violation.h"
#include "io/pins.h"
#include "pipeline/request.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

const Shape* NoShape(std::string_view) { return nullptr; }

// Specs of all configurations; an error where one is wrong.
Result<std::map<size_t, std::vector<PlacedSpec>>> PlaceAll(const ShardingAnnotations& annotations,
                                                           const ShapeOf& shape_of, const std::string& path) {
  Findings findings;
  std::map<size_t, std::vector<PlacedSpec>> placed = PlaceSpecs(annotations, shape_of, findings);
  if (findings.empty()) return placed;
  const std::vector<Violation> violations = findings.Take();
  const Violation& first = violations.front();
  return BadInput(StrCat(
      path, ": the model's sharding annotations are not right: ", first.where, ": ", first.what, "; expected ",
      first.expected, ", found ", first.found,
      violations.size() > 1 ? StrCat(" (and ", violations.size() - 1, " more: `sbp-plan check ") : " (`sbp-plan check ",
      path, "` lists them all; --ignore-annotations plans without)"));
}

}  // namespace

std::vector<std::string> NotesOfUnread(const ShardingAnnotations& annotations) {
  std::vector<std::string> notes;
  if (annotations.nested > 0) {
    notes.push_back(
        StrCat(Counted(annotations.nested, "annotation"), " inside subgraphs and local functions not read"));
  }
  std::set<int64_t> stages;
  for (const NodeAnnotation& node : annotations.nodes) {
    if (node.pipeline_stage) stages.insert(*node.pipeline_stage);
  }
  if (stages.size() > 1) {
    notes.push_back(
        StrCat("pipeline_stage (", stages.size(), " stages) is not read: a plan places every op on the whole mesh"));
  }
  return notes;
}

std::optional<Mesh> MeshOfAnnotations(const ShardingAnnotations& annotations) {
  Findings unknown_shapes;  // the graph is not resolved yet: said when it is
  const auto placed = PlaceSpecs(annotations, NoShape, unknown_shapes);
  if (placed.empty()) return std::nullopt;
  const auto& [index, specs] = *placed.begin();
  if (annotations.configurations[index].num_devices < 1) return std::nullopt;
  return InferMesh(annotations.configurations[index], DistinctPlacements(specs));
}

Status AddAnnotations(const ShardingAnnotations& annotations, const std::string& path, PlanRequest& request,
                      const NoteSink& note) {
  SBP_ASSIGN_OR_RETURN(const auto placed, PlaceAll(annotations, ShapesByName(request.graph), path));
  if (placed.empty()) return OkStatus();
  const auto& [index, specs] = *placed.begin();
  const DeviceConfiguration& configuration = annotations.configurations[index];
  if (configuration.num_devices != request.mesh.num_devices()) {
    return BadInput(StrCat(path, ": the model's device configuration ", Quote(configuration.name), " has ",
                           configuration.num_devices, " devices, the mesh ", ToString(request.mesh), " ",
                           request.mesh.num_devices(), "; --ignore-annotations plans without"));
  }
  Result<LayoutPins> pins = PinsOf(specs, request.graph, request.mesh);
  if (!pins.ok()) return pins.status().WithContext(path);
  for (PinText& pin : pins->pins) request.pins.emplace_back(std::move(pin.text), std::move(pin.where));
  if (!note) return OkStatus();
  note(StrCat("the model is annotated: ", Counted(pins->specs, "sharding spec"), " of configuration ",
              Quote(configuration.name), " stand as pins on the mesh ", ToString(request.mesh),
              pins->unread > 0 ? StrCat(", ", pins->unread, " of nodes that were folded or rewritten do not") : "",
              " (--ignore-annotations plans without)"));
  if (placed.size() > 1) note(StrCat(placed.size() - 1, " more device configurations are not read"));
  std::ranges::for_each(NotesOfUnread(annotations), note);
  return OkStatus();
}

Status AddShardings(const Shardings& shardings, const Mesh& mesh, Graph& graph, const NoteSink& note) {
  const Result<ShardingPins> pins = PinShardings(shardings, mesh, graph);
  if (!pins.ok()) {
    return BadInput(StrCat(pins.status().message(), " (--ignore-annotations plans without the file's shardings)"));
  }
  if (!note) return OkStatus();
  if (pins->pinned > 0) {
    note(StrCat("the model is annotated: ", Counted(pins->pinned, "sharding"), " stand as pins on the mesh ",
                ToString(mesh), " (--ignore-annotations plans without)"));
  }
  std::ranges::for_each(pins->notes, note);
  return OkStatus();
}

}  // namespace sbp
