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
  std::vector<TensorId> places(graph.tensors.size());
  std::vector<Tensor> tensors;
  tensors.reserve(static_cast<size_t>(std::ranges::count(needed, true)));
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!needed[t]) continue;
    places[t] = TensorId(tensors.size());
    tensors.push_back(std::move(graph.tensors[t]));
  }
  graph.tensors = std::move(tensors);
  const auto move = [&](TensorId& id) { id = id.valid() ? places[id.index()] : id; };
  std::vector<Op> ops;
  ops.reserve(static_cast<size_t>(std::ranges::count(kept, true)));
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!kept[i]) continue;
    for (auto* list : {&graph.ops[i].inputs, &graph.ops[i].outputs, &graph.ops[i].captures})
      std::ranges::for_each(*list, move);
    for (size_t r = 0; r < graph.ops[i].outputs.size(); ++r) {
      const TensorId id = graph.ops[i].outputs[r];
      if (id.valid()) graph.tensor(id).producer = OpId(ops.size());
    }
    ops.push_back(std::move(graph.ops[i]));
  }
  graph.ops = std::move(ops);
  for (auto* list : {&graph.inputs, &graph.outputs}) std::ranges::for_each(*list, move);
  std::erase_if(graph.ties, [&](const Tie& tie) { return !places[tie.output.index()].valid(); });
  for (Tie& tie : graph.ties) {
    move(tie.output);
    move(tie.input);
  }
}

}  // namespace sbp
