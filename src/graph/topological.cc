// Topological order of a graph's ops.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/reorder.h"
#include "graph/sort_with.h"

namespace sbp {
namespace {

// Calls visit(producer) for each operand that an op writes.
template <typename Visit>
void EachProducer(const Graph& graph, const Op& op, Visit visit) {
  for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
    for (TensorId id : *list) {
      if (id.valid() && graph.tensor(id).producer.valid()) visit(graph.tensor(id).producer);
    }
  }
}

bool IsSorted(const Graph& graph) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    bool before = true;
    EachProducer(graph, graph.ops[i], [&](OpId producer) { before &= producer.index() < i; });
    if (!before) return false;
  }
  return true;
}

// Ops that still wait for another op that waits: going from one to a producer of it that waits ends in a cycle.
Status CycleError(const Graph& graph, const std::vector<uint32_t>& waits_for) {
  const auto first = std::find_if(waits_for.begin(), waits_for.end(), [](uint32_t count) { return count > 0; });
  OpId at(static_cast<size_t>(first - waits_for.begin()));
  std::vector<OpId> path;
  std::vector<uint32_t> seen(graph.ops.size(), 0);  // position in path + 1
  while (seen[at.index()] == 0) {
    path.push_back(at);
    seen[at.index()] = static_cast<uint32_t>(path.size());
    OpId next;
    EachProducer(graph, graph.op(at), [&](OpId producer) {
      if (!next.valid() && waits_for[producer.index()] > 0) next = producer;
    });
    at = next;
  }
  path.erase(path.begin(), path.begin() + seen[at.index()] - 1);
  std::reverse(path.begin(), path.end());  // in the direction of the data
  constexpr size_t kShown = 8;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(path.size(), kShown); ++i) names.push_back(Quote(graph.op(path[i]).name));
  if (path.size() > kShown) names.push_back(StrCat("... (", path.size(), " ops)"));
  names.push_back(Quote(graph.op(path.front()).name));
  return BadInput("the ops form a cycle: " + Join(names, " -> "));
}

}  // namespace

Status SortTopologically(Graph& graph) { return IsSorted(graph) ? OkStatus() : SortWith({}, graph); }

Status SortWith(const std::vector<std::pair<OpId, OpId>>& pairs, Graph& graph) {
  const size_t count = graph.ops.size();
  const UseTable uses = BuildUses(graph);
  std::vector<uint32_t> waits_for(count, 0);
  for (size_t i = 0; i < count; ++i) EachProducer(graph, graph.ops[i], [&](OpId) { ++waits_for[i]; });
  std::vector<std::pair<OpId, OpId>> more = pairs;
  std::ranges::sort(more);
  for (const auto& [before, after] : more) ++waits_for[after.index()];

  // Of the ops that are ready, always the one that stands first in the file.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    if (waits_for[i] == 0) ready.push(static_cast<uint32_t>(i));
  }
  std::vector<OpId> order;
  order.reserve(count);
  while (!ready.empty()) {
    const uint32_t at = ready.top();
    ready.pop();
    order.push_back(OpId(at));
    for (TensorId output : graph.ops[at].outputs) {
      if (!output.valid()) continue;
      const auto [begin, end] = uses.of(output);
      for (const Use* use = begin; use != end; ++use) {
        if (--waits_for[use->op.index()] == 0) ready.push(use->op.value);
      }
    }
    for (auto pair = std::ranges::lower_bound(more, OpId(at), {}, &std::pair<OpId, OpId>::first);
         pair != more.end() && pair->first == OpId(at); ++pair) {
      if (--waits_for[pair->second.index()] == 0) ready.push(pair->second.value);
    }
  }
  if (order.size() < count) return CycleError(graph, waits_for);

  Reorder(order, graph);
  return OkStatus();
}

}  // namespace sbp
