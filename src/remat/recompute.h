// Rematerialisation: the backward pass of a training graph computes again what it would keep of the forward pass.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "remat/policy.h"
#include "rule/rule_set.h"

namespace sbp {

struct RematSummary {
  int64_t segments = 0;  // in which something is computed again
  int64_t ops = 0;       // that were added
  // What the backward pass reads of the forward pass, whole tensors, without and with.
  int64_t kept_bytes_before = 0, kept_bytes = 0;
};

// Lets the backward pass read copies, "again/NAME", of what segments (remat/segments.h) do not keep, made by copies of
// ops from what is kept. What the backward pass does not need, though it is there, adds nothing. A chain of copies
// stands in front of the first op that needs it: memory lives by the graph's order.
//
// Kept in any case: what other segments or the graph's caller read, what is made of parameters alone, results of
// control flow, of ops with bodies, and of whatever is no tensor; and what takes no more than what would be kept for
// its sake alone. A random op's copy draws the same numbers: draws go by name (graph/again.h). Copies give only what is
// read, so that nothing of the caller's (running statistics) is updated twice.
//
// What a segment holds (RematEntry::held) names the last op of its backward pass: graph/held.h.
//
// `needed`: what the step is made for, besides outputs (gradients); ops that lead to none are none's readers. Ids of
// tensors stay, those of ops change. Linear in operands. Error (kBadInput): FindSegments'.
Result<RematSummary> Recompute(Graph& graph, std::span<const TensorId> needed, std::span<const RematEntry> entries,
                               const RuleSet& rules);

}  // namespace sbp
