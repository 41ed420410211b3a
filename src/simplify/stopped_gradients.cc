// Where no gradient would come by, nothing needs to stop it: tables of positions that are made under torch.no_grad.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/producers.h"
#include "simplify/graph_edit.h"
#include "simplify/simplify.h"

namespace sbp::simplify {
namespace {

// Per tensor: floats that depend by floats alone on a parameter or an input, which one may ask the gradient of.
std::vector<bool> Learned(const Graph& graph) {
  std::vector<bool> learned(graph.tensors.size());
  const std::vector<bool> buffers = FindBuffers(graph);
  for (size_t t = 0; t < learned.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    const bool is_constant = buffers[t] || tensor.literal != nullptr;
    learned[t] = tensor.role != TensorRole::kActivation && !is_constant && IsFloat(tensor.type.dtype);
  }
  const auto is_learned = [&](TensorId id) { return id.valid() && learned[id.index()]; };
  for (const Op& op : graph.ops) {
    const bool passes = std::ranges::any_of(op.inputs, is_learned) || std::ranges::any_of(op.captures, is_learned);
    for (const TensorId id : op.outputs) {
      if (id.valid()) learned[id.index()] = passes && IsFloat(graph.tensor(id).type.dtype);
    }
  }
  return learned;
}

}  // namespace

bool StoppedGradients(Graph& graph, const std::vector<bool>&) {
  const std::vector<bool> learned = Learned(graph);
  GraphEdit edit(graph);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const Op& op = graph.ops[o];
    if (graph.type_of(op) != "sbp::StopGradient" || learned[op.inputs[0].index()]) continue;
    if (edit.IsKept(op.outputs[0]) || !op.signature_pin.empty()) continue;
    edit.Replace(op.outputs[0], op.inputs[0]);
    edit.Remove(o);
  }
  edit.Finish();
  return edit.changed();
}

}  // namespace sbp::simplify
