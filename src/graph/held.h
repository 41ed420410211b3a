// What a training step holds in memory though no op reads it any more (remat/policy.h, RematEntry::held).
#pragma once

#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

// Key of an op's metadata: the name of the op until which, itself included, what the op gives stays in memory.
inline constexpr std::string_view kHeldUntil = "held_until";

struct HeldResult {
  TensorId tensor;
  OpId until;
};

// In the order of ops; those whose op of that name is not there, or not after them, are none. Linear.
std::vector<HeldResult> FindHeld(const Graph& graph);

}  // namespace sbp
