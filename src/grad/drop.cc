#include "grad/drop.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

void DropUnneeded(Graph& graph) {
  std::vector<bool> needed(graph.tensors.size(), false);
  const auto mark = [&](TensorId id) {
    if (id.valid()) needed[id.index()] = true;
  };
  for (const TensorId id : graph.outputs) mark(id);
  std::vector<bool> kept(graph.ops.size(), false);
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    const auto is_needed = [&](TensorId id) { return id.valid() && needed[id.index()]; };
    if (std::ranges::none_of(op.outputs, is_needed)) continue;
    kept[i] = true;
    std::ranges::for_each(op.inputs, mark);
    std::ranges::for_each(op.captures, mark);
  }
  for (const TensorId id : graph.inputs) mark(id);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!kept[i]) continue;
    for (TensorId& id : graph.ops[i].outputs) {
      if (id.valid() && !needed[id.index()]) id = TensorId();
    }
    while (!graph.ops[i].outputs.back().valid()) graph.ops[i].outputs.pop_back();
  }
  // In place: of a million ops a second list would be what takes most memory of all.
  std::vector<TensorId> places(graph.tensors.size());
  size_t tensors = 0;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!needed[t]) continue;
    places[t] = TensorId(tensors);
    if (tensors != t) graph.tensors[tensors] = std::move(graph.tensors[t]);
    ++tensors;
  }
  graph.tensors.resize(tensors);
  const auto move = [&](TensorId& id) { id = id.valid() ? places[id.index()] : id; };
  size_t ops = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!kept[i]) continue;
    Op& op = graph.ops[i];
    for (auto* list : {&op.inputs, &op.outputs, &op.captures}) std::ranges::for_each(*list, move);
    for (const TensorId id : op.outputs) {
      if (id.valid()) graph.tensor(id).producer = OpId(ops);
    }
    if (ops != i) graph.ops[ops] = std::move(op);
    ++ops;
  }
  graph.ops.resize(ops);
  for (auto* list : {&graph.inputs, &graph.outputs}) std::ranges::for_each(*list, move);
  std::erase_if(graph.ties, [&](const Tie& tie) { return !places[tie.output.index()].valid(); });
  for (Tie& tie : graph.ties) {
    move(tie.output);
    move(tie.input);
  }
}

}  // namespace sbp
