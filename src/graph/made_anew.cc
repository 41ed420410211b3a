#include "graph/made_anew.h"

#include <algorithm>
#include <cstddef>

namespace sbp {
namespace {

// Per op, the first one behind it that runs another kernel: past what follows of its own without a break, and past ops
// that run none. The number of ops: there is none.
std::vector<size_t> FirstOfOthers(const Graph& graph, const KernelGroups& groups) {
  std::vector<size_t> first(graph.ops.size(), graph.ops.size());
  for (size_t o = graph.ops.size(); o-- > 0;) {
    size_t next = o + 1;
    while (next < graph.ops.size() && groups.runs_no_kernel(OpId(next))) ++next;
    if (next == graph.ops.size()) continue;
    const KernelGroup* own = groups.of(OpId(o));
    first[o] = own != nullptr && groups.of(OpId(next)) == own ? first[next] : next;
  }
  return first;
}

}  // namespace

std::vector<OpId> MadeAnewUntil(const Graph& graph, const KernelGroups& groups) {
  std::vector<OpId> until;
  if (groups.empty()) return until;
  for (size_t o = 0; o < graph.ops.size(); ++o) until.emplace_back(o);
  const std::vector<size_t> others = FirstOfOthers(graph, groups);
  const UseTable uses = BuildUses(graph);
  for (size_t o = graph.ops.size(); o-- > 0;) {
    for (const TensorId result : graph.ops[o].outputs) {
      if (!result.valid() || !groups.is_inside(result)) continue;
      const auto [begin, end] = uses.of(result);
      for (const Use* use = begin; use != end; ++use) {
        const size_t reader = use->op.index();
        const bool at_once = groups.of(use->op) == groups.of(OpId(o)) && reader < others[o];
        if (!at_once || until[reader] != use->op) until[o] = std::max(until[o], until[reader]);
      }
    }
  }
  return until;
}

}  // namespace sbp
