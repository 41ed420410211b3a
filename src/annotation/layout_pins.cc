#include "annotation/layout_pins.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "annotation/placement.h"
#include "base/text.h"
#include "graph/simplified.h"

namespace sbp {
namespace {

// Adds the pins of one spec; false: the graph has nothing that it is of.
class PinWriter {
 public:
  PinWriter(const Graph& graph, const NodeFinder& finder, std::vector<PinText>& pins)
      : graph_(graph), finder_(finder), pins_(pins) {}

  bool Add(const NodeAnnotation& node, const std::string& tensor, const NdSbp& layout) {
    bool any = false;
    for (const OpId id : finder_.OpsOf(node)) {
      const Op& op = graph_.op(id);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (!finder_.IsCalled(op.inputs[i], tensor)) continue;
        any = true;
        AddPin(StrCat(op.name, ".", i, "=", ToString(layout)));
        const Tensor& read = graph_.tensor(op.inputs[i]);
        if (read.role != TensorRole::kActivation && started_.insert(op.inputs[i]).second) {
          AddPin(StrCat(read.name, "=", ToString(layout)));
        }
      }
      for (const TensorId output : op.outputs) {
        if (!finder_.IsCalled(output, tensor)) continue;
        any = true;
        AddPin(StrCat(graph_.tensor(output).name, "=", ToString(layout)));
      }
    }
    return any;
  }

 private:
  void AddPin(std::string text) { pins_.push_back({std::move(text), std::string(kFromAnnotations)}); }

  const Graph& graph_;
  const NodeFinder& finder_;
  std::vector<PinText>& pins_;
  std::set<TensorId> started_;  // inputs and parameters that have a pin
};

}  // namespace

NodeFinder::NodeFinder(const Graph& graph) : graph_(graph), names_(graph) {
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    for (const auto& [key, value] : graph.ops[o].metadata) {
      if (key == kSimplifiedFrom) parts_.emplace_back(value, OpId(o));
    }
  }
  std::ranges::sort(parts_);
}

std::vector<OpId> NodeFinder::OpsOf(const NodeAnnotation& node) const {
  for (const std::string& output : node.outputs) {
    const TensorId tensor = output.empty() ? TensorId() : names_.tensor(output);
    if (tensor.valid() && graph_.tensor(tensor).producer.valid()) return {graph_.tensor(tensor).producer};
  }
  std::vector<OpId> ops;
  if (node.name.empty()) return ops;
  for (auto part = std::lower_bound(parts_.begin(), parts_.end(), std::pair(std::string_view(node.name), OpId(0)));
       part != parts_.end() && part->first == node.name; ++part)
    ops.push_back(part->second);
  return ops;
}

bool NodeFinder::IsCalled(TensorId tensor, std::string_view name) const {
  if (!tensor.valid()) return false;
  const Tensor& found = graph_.tensor(tensor);
  return found.name == name || (found.part != nullptr && found.part->whole == name);
}

Result<LayoutPins> PinsOf(const std::vector<PlacedSpec>& specs, const Graph& graph, const Mesh& mesh) {
  const NodeFinder finder(graph);
  LayoutPins result;
  PinWriter writer(graph, finder, result.pins);
  for (const PlacedSpec& placed : specs) {
    const std::optional<NdSbp> layout = LayoutOf(placed.placement, mesh);
    if (!layout) {
      return BadInput(
          StrCat(PlaceOf(*placed.node, *placed.spec), ": no layout over the mesh ", ToString(mesh),
                 " places its shards so; `check MODEL` says more, --ignore-annotations plans without them"));
    }
    const bool read = writer.Add(*placed.node, placed.spec->tensor, *layout);
    ++(read ? result.specs : result.unread);
  }
  return result;
}

}  // namespace sbp
