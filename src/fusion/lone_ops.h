// Light ops that are groups by themselves, and belong to what makes their operands or reads their results.
#pragma once

#include <vector>

#include "fusion/group_drafts.h"

namespace sbp {

// A reduction of other dimensions than the last (a bias' gradient) becomes one kernel with the element-wise ops that
// make what it reads, beside others of as many columns, if they wait for none of its results. An element-wise op that
// reads no more bytes than it makes, as a cast of narrow numbers, is made where it is read: it belongs to the first
// kernel that reads it, all others being light, too, which make it anew. On the terms of kernel_groups.h. `seen`: per
// op, does a compiler see it?
void JoinLoneOps(const std::vector<bool>& seen, GroupDrafts& drafts);

}  // namespace sbp
