#include "graph/passes.h"

#include "graph/each_operand.h"
#include "graph/phases.h"

namespace sbp {

DataPasses::DataPasses(const Graph& graph) : graph_(graph), passes_(graph.tensors.size(), Pass::kNone) {
  for (const TensorId id : graph.inputs) passes_[id.index()] = Pass::kForward;
  for (const Op& op : graph.ops) {
    bool is_of_data = false;
    EachOperand(op, [&](TensorId id) { is_of_data = is_of_data || of(id) != Pass::kNone; });
    if (!is_of_data) continue;
    const Pass pass = PhaseOf(graph, op) == Phase::kBackward ? Pass::kBackward : Pass::kForward;
    for (const TensorId id : op.outputs) {
      if (id.valid()) passes_[id.index()] = pass;
    }
  }
}

bool DataPasses::OpensBackward(const Op& op) const {
  if (PhaseOf(graph_, op) != Phase::kBackward) return false;
  bool forward = false, backward = false;
  EachOperand(op, [&](TensorId id) {
    forward = forward || of(id) == Pass::kForward;
    backward = backward || of(id) == Pass::kBackward;
  });
  return forward && !backward;
}

}  // namespace sbp
