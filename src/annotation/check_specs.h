// Are sharding specs what ONNX says that they must be? Read spec by spec, without rules and meshes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "annotation/placement.h"
#include "check/findings.h"
#include "graph/graph.h"
#include "onnx/annotations.h"
#include "sbp/shard_math.h"

namespace sbp {

// A spec that is right.
struct PlacedSpec {
  const NodeAnnotation* node = nullptr;
  const ShardingSpec* spec = nullptr;
  Placement placement;
};

// The specs that are right, by configuration (its index), in the file's order; what is wrong with the others goes to
// `findings`, with node, tensor and what was expected. `shape_of`: a tensor's shape, null where it is not known (then
// axes are not held against it, and negative ones are an error). `annotations` must outlive the result.
using ShapeOf = std::function<const Shape*(std::string_view tensor)>;
std::map<size_t, std::vector<PlacedSpec>> PlaceSpecs(const ShardingAnnotations& annotations, const ShapeOf& shape_of,
                                                     Findings& findings);

// Shapes by the names of tensors; the graph must outlive it.
class ShapesByName {
 public:
  explicit ShapesByName(const Graph& graph) : graph_(graph), names_(graph) {}
  const Shape* operator()(std::string_view name) const;

 private:
  const Graph& graph_;
  NameIndex names_;
};

// "1 device", "3 devices".
std::string Counted(int64_t count, std::string_view what);

// Each placement of the specs, once.
std::vector<Placement> DistinctPlacements(const std::vector<PlacedSpec>& specs);

// `MatMul "mm", tensor "x"`.
std::string PlaceOf(const NodeAnnotation& node, const ShardingSpec& spec);

}  // namespace sbp
