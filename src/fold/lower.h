// Ops of other systems in a graph whose inputs have their sizes.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Gives stated types their sizes, and writes ATen's ops (aten/lower.h) in terms of ours; a graph without any stays as
// it is. Errors (kBadInput): a size outside the range that the model file states; see LowerAten.
Status LowerBound(const RuleSet& rules, Graph& graph);

}  // namespace sbp
