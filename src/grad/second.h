// Second derivatives, as products with directions.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Of a graph with outputs "grad/T" for each of `targets` (parameters and inputs): the same with an input "v/T", shaped
// like T, and an output "hvp/T" for each: the gradient by T of the inner product of all gradients and all directions.
// Zeros where no gradient depends on T. `expanded` is as ExpandForVjp has it. Errors: as Differentiate.
Result<Graph> AddHessianProducts(Graph graph, std::span<const std::string> targets,
                                 std::span<const std::string> expanded, const RuleSet& rules);

}  // namespace sbp
