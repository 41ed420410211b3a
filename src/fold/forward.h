// The forward pass: types and values of all tensors of one graph whose inputs are typed, in topological order.
#pragma once

#include "base/status.h"
#include "fold/pass_state.h"

namespace sbp {

// The graph with every type static: ops whose results are known are parameters, If on a known condition is inlined.
// What `pass` says of values and assumptions stays. FoldContext::resolve_graph, which bodies of ops are resolved with.
Result<Graph> ResolveGraph(PassState& pass);

}  // namespace sbp
