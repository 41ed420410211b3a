// Reads StableHLO in MLIR's generic text form, as JAX prints it, without MLIR.
#pragma once

#include <string_view>

#include "base/status.h"
#include "graph/graph.h"

namespace sbp {

// Is it a text of MLIR, generic or not?
bool LooksLikeMlir(std::string_view text);

// Function main as a graph: ops keep StableHLO's names ("stablehlo::dot_general"), with operands and attributes by
// name, which aten/ lowers by rules/stablehlo/; calls are inlined, loops that are counted read turn by turn. Arguments
// have the names of their locations, with dots: "params['w'][0]" is `params.w.0`. Those of floats that are part of a
// larger argument, as this one, are parameters, others inputs. An argument that is donated to a result
// (donations.h) is tied to it. Results have the names of jax.result_info: `result.0`. Scopes
// are those of the locations, an op's metadata `source` its line of Python. Broadcasts are left out where an op by
// elements takes what is broadcast as it is. Errors (kBadInput), by FILE:LINE:COL: see syntax.h; loops and branches
// that data decide, or loops of too many turns; sizes that are not known; forms of gather, scatter, sort, ... that
// have no counterpart.
Result<Graph> ReadStableHlo(std::string_view text, std::string_view where);

}  // namespace sbp
