#include "grad/between.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {
namespace {

bool IsFloatTensor(const Tensor& tensor) { return IsFloat(tensor.type.dtype); }

}  // namespace

std::vector<bool> DependsOn(const Graph& graph, std::span<const TensorId> targets) {
  std::vector<bool> depends(graph.tensors.size(), false);
  for (const TensorId id : targets) depends[id.index()] = true;
  for (const Op& op : graph.ops) {
    const auto is_dependent = [&](TensorId id) { return id.valid() && depends[id.index()]; };
    if (std::ranges::none_of(op.inputs, is_dependent) && std::ranges::none_of(op.captures, is_dependent)) continue;
    for (const TensorId id : op.outputs) {
      if (id.valid() && IsFloatTensor(graph.tensor(id))) depends[id.index()] = true;
    }
  }
  return depends;
}

std::vector<bool> OpsBetween(const Graph& graph, std::span<const TensorId> targets, std::span<const TensorId> seeds) {
  const std::vector<bool> depends = DependsOn(graph, targets);
  std::vector<bool> reached(graph.tensors.size(), false), between(graph.ops.size(), false);
  for (const TensorId id : seeds) reached[id.index()] = true;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    const auto is_between = [&](TensorId id) { return id.valid() && reached[id.index()] && depends[id.index()]; };
    if (std::ranges::none_of(op.outputs, is_between)) continue;
    between[i] = true;
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId id : *list) {
        if (id.valid()) reached[id.index()] = true;
      }
    }
  }
  return between;
}

}  // namespace sbp
