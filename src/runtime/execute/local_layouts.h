// Layouts inside an expansion: given how an op's operands lie and how its results must, a signature for each inner op
// such that no data moves between devices.
#pragma once

#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "runtime/exchange/halo.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

// Can each device make its part of `to` from its part of `from` alone? Slices B -> S, and what the neutral element
// fills: B -> P, S -> P.
bool IsLocalChange(const NdSbp& from, const NdSbp& to);

// Per graph input.
struct ExpansionInputs {
  std::vector<NdSbp> layouts;
  std::vector<HaloWidths> halos;  // that the parts hold; empty: none of any input
};

// One signature per op of `graph`, a resolved expansion whose inputs lie as `inputs` say and whose outputs must lie as
// `outputs`; parameters are B. An input with a halo is read by ops that need just that. Of the inner op's candidates
// the one with the fewest local changes of its operands is tried first. Error (kDefect): the expansion cannot be laid
// out so; names the op that gets stuck last.
Result<std::vector<Signature>> LayOutExpansion(const Graph& graph, const RuleSet& rules, const Mesh& mesh,
                                               const ExpansionInputs& inputs, const std::vector<NdSbp>& outputs);

}  // namespace sbp
