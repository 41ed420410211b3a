// What kernels make anew instead of reading it.
#pragma once

#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"

namespace sbp {

// Per op: the last op that reads what the op gives, which is inside (graph/kernel_groups.h), or what is made of that
// there, when other kernels have run since: in another kernel, which makes it anew, or in a part of its own that comes
// later. The op itself: none does. What the op reads has to be there then. Empty: there are no groups. Linear but for
// views in a row.
std::vector<OpId> MadeAnewUntil(const Graph& graph, const KernelGroups& groups);

}  // namespace sbp
