// The last step of a search for uniform plans: fewer kinds of layer, each a run of consecutive layers, as long as that
// costs little.
#pragma once

#include "base/status.h"
#include "problem/problem.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {

// The assignment with layers that choose as other layers do, or in another order, so that there are fewer kinds or runs
// of them (plan/layer_kinds.h). It takes at most search.uniform more, by search.objective, than the best plan found (of
// which assignment.uniformity_cost tells), and fits into the memory limit. Its uniformity_cost says what it takes more.
// A fixed amount of work; ends early when `cancelled`. Deterministic. Requires search.uniform >= 0 and a complete
// answer within the limit.
Assignment MakeRegular(const Problem& problem, const StrategyOptions& options, const SearchOptions& search,
                       Assignment assignment);

}  // namespace sbp
