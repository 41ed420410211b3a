#include "graph/made_anew.h"

#include <algorithm>
#include <cstddef>

namespace sbp {

std::vector<OpId> MadeAnewUntil(const Graph& graph, const KernelGroups& groups) {
  std::vector<OpId> until;
  if (groups.empty()) return until;
  for (size_t o = 0; o < graph.ops.size(); ++o) until.emplace_back(o);
  const UseTable uses = BuildUses(graph);
  for (size_t o = graph.ops.size(); o-- > 0;) {
    for (const TensorId result : graph.ops[o].outputs) {
      if (!result.valid() || !groups.is_inside(result)) continue;
      const auto [begin, end] = uses.of(result);
      for (const Use* use = begin; use != end; ++use) {
        const bool is_own = groups.of(use->op) != nullptr && groups.of(use->op) == groups.of(OpId(o));
        const OpId last = is_own ? until[use->op.index()] : use->op;
        if (!is_own || last != use->op) until[o] = std::max(until[o], last);
      }
    }
  }
  return until;
}

}  // namespace sbp
