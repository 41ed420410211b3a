// The functions behind the rows of all_strategies.cc; each stands in the file of its strategy.
#pragma once

#include "strategy/strategy.h"

namespace sbp {

Result<Assignment> SolveGreedy(const Problem& problem, const StrategyOptions& options);
Result<Assignment> SolveEinsum(const Problem& problem, const StrategyOptions& options);
Result<Assignment> SolveReplicate(const Problem& problem, const StrategyOptions& options);
Result<Assignment> SolveOptimal(const Problem& problem, const StrategyOptions& options);
Result<Assignment> SolveFixed(const Problem& problem, const StrategyOptions& options);

}  // namespace sbp
