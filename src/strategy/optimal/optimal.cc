// optimal: all signatures together (optimal_search.h).
#include "base/status.h"
#include "problem/problem.h"
#include "strategy/all_strategies.h"
#include "strategy/optimal/optimal_search.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

Result<Assignment> SolveOptimal(const Problem& problem, const StrategyOptions& options) {
  if (problem.mesh.num_devices() == 1) {
    return Walk(problem, options).Run(InitialSourceLayouts(problem), DecideOnOneDevice);
  }
  return OptimalSearch(problem, options).Run();
}

}  // namespace

StrategyRow OptimalStrategy() {
  return {.name = "optimal",
          .doc = "all signatures together, least time under the memory limit, with a lower bound",
          .options = AllSearchOptions(),
          .unit = kUnitOfOptimal,
          .has_bound = true,
          .solve = SolveOptimal,
          .check = CheckSearchOptions,
          .goal = GoalOfSearch};
}

}  // namespace sbp
