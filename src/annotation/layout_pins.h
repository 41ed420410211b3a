// Sharding specs as pins: a spec of what a node reads is how that use wants it, one of what it writes is how the tensor
// lies for its readers; what the node itself writes may be partial and is reduced there. Inputs and parameters, which
// have no spec of their own, start as their first annotated reader takes them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "annotation/check_specs.h"
#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "io/pins.h"
#include "onnx/annotations.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

inline constexpr std::string_view kFromAnnotations = "annotation";  // PinMatch::where

// Finds what became of a model file's nodes in a graph that was read from it.
class NodeFinder {
 public:
  explicit NodeFinder(const Graph& graph);
  // The op that writes one of the node's outputs, else those that each do a part of it (kSimplifiedFrom); none: the
  // node was folded away or rewritten.
  std::vector<OpId> OpsOf(const NodeAnnotation& node) const;
  // Does the tensor stand for what the file calls `name`, as itself or as a part of it?
  bool IsCalled(TensorId tensor, std::string_view name) const;

 private:
  const Graph& graph_;
  NameIndex names_;
  std::vector<std::pair<std::string_view, OpId>> parts_;  // name of the node in the file, ascending
};

struct LayoutPins {
  std::vector<PinText> pins;
  int64_t specs = 0;   // that pins stand for
  int64_t unread = 0;  // of nodes that the graph no longer has, and of tensors inside them
};
// Error (kBadInput): a placement that no layout over the mesh has.
Result<LayoutPins> PinsOf(const std::vector<PlacedSpec>& specs, const Graph& graph, const Mesh& mesh);

}  // namespace sbp
