// Heads of keys and values that are repeated for the query heads of their group.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp::simplify {

// The tensor of fewer heads, (b, h, t, d), that moves repeat, the farthest one, and the names of the moves.
struct FewerHeads {
  TensorId id;
  std::vector<std::string> ops;
};

// Of `id`, which is (b, h, t, d), or (b, h, d, t) if `turned`; static, of 4 dimensions. Nothing: no head is repeated.
// `computed`: as of SimplifyPass.
std::optional<FewerHeads> FewerHeadsOf(const Graph& graph, const std::vector<bool>& computed, TensorId id,
                                       bool turned = false);

}  // namespace sbp::simplify
