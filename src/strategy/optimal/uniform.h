// Uniform plans: ops that play the same part in repeated layers choose alike, and so do the layers' parameters and the
// tensors between them. What plays the same part is found from the network (search/quotient.h), so that names do not
// matter. The search for the best uniform plan is one of the quotient, whose size does not grow with depth.
#pragma once

#include <optional>

#include "search/solve.h"
#include "strategy/optimal/layout_network.h"

namespace sbp {

// The best uniform choice found, as one of the whole network; its bounds say nothing of other choices and are 0. None
// where too little repeats.
std::optional<SolveResult> SolveUniform(const LayoutNetwork& network, const SolveOptions& options);

}  // namespace sbp
