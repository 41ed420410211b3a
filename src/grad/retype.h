// A model of f32, or for fp8 of bf16, as it would be stored and computed in a narrower type.
#pragma once

#include <string>

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// `graph` (resolved, without a backward pass) with its weights (trainable.h) stored in `type`, "bf16", "f16" or "fp8",
// and computed with in it as LowerPrecision does; fp8: bf16, whose products of data and weights read weights stored as
// e4m3 and data cast to it, but for the head (narrow.h). Inputs that are only read in the narrow type, such as caches,
// are of that type. Where values of weights are is forgotten: they are of another type. Errors (kBadInput): another
// type; no weight is f32 (fp8: nor bf16); an op that has no form in the type.
Result<Graph> RetypeModel(Graph graph, const std::string& type, const RuleSet& rules);

}  // namespace sbp
