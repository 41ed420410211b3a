#include "graph/reorder.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sbp {

void Reorder(std::span<const OpId> order, Graph& graph) {
  std::vector<Op> ops;
  ops.reserve(order.size());
  for (const OpId op : order) ops.push_back(std::move(graph.op(op)));
  graph.ops = std::move(ops);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    for (const TensorId output : graph.ops[o].outputs) {
      if (output.valid()) graph.tensor(output).producer = OpId(o);
    }
  }
}

void PutInOrderOf(const Graph& earlier, Graph& graph) {
  const NameIndex names(earlier);
  std::vector<std::pair<size_t, OpId>> keys;
  size_t last = 0;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const OpId before = names.op(graph.ops[o].name);
    if (before.valid()) last = before.index();
    keys.emplace_back(last, OpId(o));
  }
  std::ranges::stable_sort(keys, {}, [](const auto& key) { return key.first; });
  Graph moved = graph;
  std::vector<OpId> order;
  for (const auto& [at, op] : keys) order.push_back(op);
  Reorder(order, moved);
  if (SortTopologically(moved).ok()) graph = std::move(moved);
}

}  // namespace sbp
