// Mixed precision: parameters stay in f32, what is computed with them is of a narrower type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// `forward` (resolved) with casts of the named f32 parameters to `type`, "compute/P", and every op behind them that
// reads f32 computed in that type: its other f32 operands are cast too. What depends on no such parameter stays f32;
// so do powers, roots, exponents and sums (what a normalisation is made of), losses, and ops with bodies, as under
// torch.autocast. Numbers beyond the type's range become its greatest. Names stay; ids of tensors and ops change.
// Where a named parameter is of `type` itself, the model says what is computed in which type: only those parameters
// become f32, with the values that they have, and are cast for who reads them.
// Errors (kBadInput): neither f32 nor `type` among the parameters; an op that has no form in that type.
Result<Graph> LowerPrecision(Graph forward, const std::vector<std::string>& parameters, DType type,
                             const RuleSet& rules);

// Of --compute: bf16 whose products of data and weights read 8-bit floats (grad/narrow.h).
inline constexpr std::string_view kNarrowCompute = "fp8";
// "bf16", "f16" or "fp8", of --compute; the last is bf16. Error: any other.
Result<DType> ParseComputeType(const std::string& name);

}  // namespace sbp
