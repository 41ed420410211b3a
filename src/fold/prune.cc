#include "fold/prune.h"

#include <algorithm>

#include "base/ids.h"

namespace sbp {
namespace {

bool AnyUsed(const Op& op, const std::vector<bool>& used) {
  return std::ranges::any_of(op.outputs, [&](TensorId id) { return id.valid() && used[id.index()]; });
}

void Renumber(Graph& graph, const std::vector<bool>& kept) {
  std::vector<TensorId> renumbered(graph.tensors.size());
  size_t count = 0;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!kept[i]) continue;
    renumbered[i] = TensorId(count);
    if (count != i) graph.tensors[count] = std::move(graph.tensors[i]);
    ++count;
  }
  graph.tensors.resize(count);
  const auto renumber = [&](std::vector<TensorId>& ids) {
    for (TensorId& id : ids) {
      if (id.valid()) id = renumbered[id.index()];
    }
  };
  for (Op& op : graph.ops) {
    renumber(op.inputs);
    renumber(op.captures);
    renumber(op.outputs);
  }
  renumber(graph.inputs);
  renumber(graph.outputs);
  for (Tie& tie : graph.ties) {
    tie.output = renumbered[tie.output.index()];
    tie.input = renumbered[tie.input.index()];
  }
}

}  // namespace

std::vector<bool> Prune(Graph& graph, const std::vector<bool>& droppable) {
  std::vector<bool> used(graph.tensors.size(), false);
  for (const TensorId id : graph.outputs) used[id.index()] = true;
  for (const Tie& tie : graph.ties) used[tie.output.index()] = used[tie.input.index()] = true;
  std::vector<bool> live(graph.ops.size(), false);
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    live[i] = AnyUsed(op, used);
    if (!live[i]) continue;
    for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
      for (const TensorId id : *list) {
        if (id.valid()) used[id.index()] = true;
      }
    }
  }
  std::vector<bool> kept_inputs(graph.inputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    kept_inputs[i] = used[graph.inputs[i].index()] || i >= droppable.size() || !droppable[i];
    if (kept_inputs[i]) used[graph.inputs[i].index()] = true;
  }
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < kept_inputs.size(); ++i) {
    if (kept_inputs[i]) inputs.push_back(graph.inputs[i]);
  }
  graph.inputs = std::move(inputs);

  std::vector<Op> ops;
  ops.reserve(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!live[i]) continue;
    for (const TensorId id : graph.ops[i].outputs) {
      if (!id.valid()) continue;
      used[id.index()] = true;  // a result that nobody reads is still written
      graph.tensor(id).producer = OpId(ops.size());
    }
    ops.push_back(std::move(graph.ops[i]));
  }
  graph.ops = std::move(ops);
  Renumber(graph, used);
  return kept_inputs;
}

}  // namespace sbp
