// What kernels make anew instead of reading it.
#pragma once

#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"

namespace sbp {

// Per op: the last op of another kernel that makes anew what the op gives, which is inside (graph/kernel_groups.h), or
// what its own kernel makes of that; the op itself: none does. What the op reads has to be there then. Empty: there are
// no groups. Linear.
std::vector<OpId> MadeAnewUntil(const Graph& graph, const KernelGroups& groups);

}  // namespace sbp
