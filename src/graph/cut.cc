#include "graph/cut.h"

#include <algorithm>

#include "base/ids.h"

namespace sbp {
namespace {

// Which ops lead to the tensor: backwards through the topological order.
std::vector<bool> OpsThatLeadTo(const Graph& graph, TensorId until) {
  std::vector<bool> wanted(graph.tensors.size(), false), kept(graph.ops.size(), false);
  wanted[until.index()] = true;
  for (size_t o = graph.ops.size(); o-- > 0;) {
    const Op& op = graph.ops[o];
    kept[o] = std::any_of(op.outputs.begin(), op.outputs.end(),
                          [&](TensorId id) { return id.valid() && wanted[id.index()]; });
    if (!kept[o]) continue;
    for (const TensorId id : graph.OperandsOf(op)) {
      if (id.valid()) wanted[id.index()] = true;
    }
  }
  return kept;
}

void Renumber(const std::vector<TensorId>& numbers, std::vector<TensorId>& ids) {
  for (TensorId& id : ids) {
    if (id.valid()) id = numbers[id.index()];
  }
}

}  // namespace

CutResult CutGraph(const Graph& graph, TensorId until) {
  CutResult cut;
  const std::vector<bool> kept = OpsThatLeadTo(graph, until);
  std::vector<bool> touched(graph.tensors.size(), false);
  touched[until.index()] = true;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (!kept[o]) continue;
    std::vector<TensorId> around = graph.OperandsOf(graph.ops[o]);
    around.insert(around.end(), graph.ops[o].outputs.begin(), graph.ops[o].outputs.end());
    for (const TensorId id : around) {
      if (id.valid()) touched[id.index()] = true;
    }
  }
  cut.graph = graph;
  cut.graph.tensors.clear();
  cut.graph.ops.clear();
  cut.graph.ties.clear();
  cut.graph.micro_batches = 1;
  cut.tensors.resize(graph.tensors.size());
  cut.ops.resize(graph.ops.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!touched[t]) continue;
    cut.tensors[t] = TensorId(cut.graph.tensors.size());
    cut.graph.tensors.push_back(graph.tensors[t]);
  }
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (!kept[o]) continue;
    cut.ops[o] = OpId(cut.graph.ops.size());
    Op& op = cut.graph.ops.emplace_back(graph.ops[o]);
    Renumber(cut.tensors, op.inputs);
    Renumber(cut.tensors, op.outputs);
    Renumber(cut.tensors, op.captures);
  }
  for (Tensor& tensor : cut.graph.tensors) {
    if (tensor.producer.valid()) tensor.producer = cut.ops[tensor.producer.index()];
  }
  std::erase_if(cut.graph.inputs, [&](TensorId id) { return !touched[id.index()]; });
  Renumber(cut.tensors, cut.graph.inputs);
  std::erase_if(cut.graph.assumptions, [&](const Assumption& assumption) {
    return std::ranges::none_of(cut.graph.inputs,
                                [&](TensorId id) { return cut.graph.tensor(id).name == assumption.input; });
  });
  cut.graph.outputs = {cut.tensors[until.index()]};
  return cut;
}

}  // namespace sbp
