// Planning again after pins have changed: the earlier plan, searched again near what changed, under the bounds that
// still hold (kept_bound.h). No search over the whole: a fraction of its time.
#pragma once

#include <optional>

#include "problem/problem.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {

// Nothing, so that the whole is to be searched: options.start_answer is absent or its bounds do not hold, nothing has
// changed, work was asked for (--effort, --time, --gap, another --uniform than the earlier plan's), the answer does not
// fit, or it is so much dearer than the earlier one that a plan of another kind may be better.
std::optional<Assignment> Replan(const Problem& problem, const StrategyOptions& options, const SearchOptions& search);

// After Replan found nothing: is the whole better searched without the earlier plan? So it is where pins changed and no
// work was asked for: what begins with a plan of another kind ends near it, dearer than what begins with none.
bool LeadsAstray(const Problem& problem, const StrategyOptions& options);

}  // namespace sbp
