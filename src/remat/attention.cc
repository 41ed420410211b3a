#include "remat/attention.h"

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace sbp {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// Which scores a tensor is made of: the op of their product, and whether a reduction has seen them.
struct Origin {
  uint32_t product = kNone;
  bool reduced = false;
};

}  // namespace

std::vector<bool> FindScores(const Graph& graph, std::span<const OpTraits> traits,
                             const std::vector<bool>& of_parameters) {
  std::vector<Origin> origins(graph.tensors.size());
  std::vector<bool> found(graph.ops.size(), false);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const Op& op = graph.ops[o];
    Origin origin;
    if (traits[o].kind == OpTraits::Kind::kContraction) {
      bool of_activations = true;
      size_t operands = 0;
      std::vector<OpId> open;
      for (const TensorId id : op.inputs) {
        if (!id.valid()) continue;
        ++operands;
        of_activations = of_activations && !of_parameters[id.index()];
        if (origins[id.index()].reduced) open.push_back(graph.tensor(id).producer);
      }
      if (operands < 2 || !of_activations) continue;
      origin.product = static_cast<uint32_t>(o);
      while (!open.empty()) {  // each op is entered once
        const OpId at = open.back();
        open.pop_back();
        if (!at.valid() || found[at.index()]) continue;
        found[at.index()] = true;
        if (traits[at.index()].kind == OpTraits::Kind::kContraction) continue;
        for (const TensorId id : graph.op(at).inputs) {
          if (id.valid() && origins[id.index()].product != kNone) open.push_back(graph.tensor(id).producer);
        }
      }
    } else if (traits[o].kind != OpTraits::Kind::kAnchor) {
      for (const TensorId id : op.inputs) {
        if (!id.valid() || origins[id.index()].product == kNone) continue;
        if (origin.product == kNone) origin.product = origins[id.index()].product;
        origin.reduced = origin.reduced || origins[id.index()].reduced;
      }
      origin.reduced = origin.product != kNone && (origin.reduced || traits[o].reduces);
    }
    for (const TensorId id : op.outputs) {
      if (id.valid()) origins[id.index()] = origin;
    }
  }
  return found;
}

}  // namespace sbp
