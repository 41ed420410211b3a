// The derivative of an If: of the branch that is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// A tensor that a subgraph reads, and a cotangent that reaches it.
using Reached = std::pair<TensorId, TensorId>;

// How a body is differentiated: what stands in the way is unrolled and expanded, then as Differentiate.
struct BodyDerivative {
  std::function<Result<Graph>(Graph body, std::span<const TensorId> targets, std::span<const TensorId> seeds,
                              const RuleSet& rules)>
      prepare;
  std::function<Result<std::vector<TensorId>>(Appender& appender, std::span<const Seed> seeds,
                                              std::span<const TensorId> targets)>
      differentiate;
};

// Adds an If on the same condition that computes, in either branch, what that branch does and from it the cotangents of
// the captures that `wanted` names. `cotangents`: per result of the op; invalid: none. Errors: as Differentiate.
Result<std::vector<Reached>> DifferentiateIf(Appender& appender, const Op& op, std::span<const TensorId> cotangents,
                                             const std::function<bool(TensorId)>& wanted, const BodyDerivative& how,
                                             uint32_t scope);

}  // namespace sbp
