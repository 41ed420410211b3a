// Groups the ops of a graph into classes of equal ops: each class's rule is instantiated once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

struct OpClasses {
  std::vector<uint32_t> class_of;  // per op
  std::vector<OpId> first;         // per class, ascending
};

// Two ops are equal when type, attributes, presence and types of operands, types of results, and the values that the
// type's rule reads are equal. One hash look-up per op.
OpClasses ClassifyOps(const Graph& graph, const RuleSet& rules);

}  // namespace sbp
