// optimal: all signatures together (optimal_search.h), then the shortest schedule from there (overlap_search.h).
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/status.h"
#include "problem/problem.h"
#include "strategy/all_strategies.h"
#include "strategy/optimal/optimal_search.h"
#include "strategy/optimal/overlap_search.h"
#include "strategy/optimal/regular.h"
#include "strategy/optimal/replan.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

constexpr double kShareOfSums = 0.5;    // of the time, at most; the search for a shorter schedule has what is left
constexpr double kLeastSeconds = 1e-3;  // of the latter: 0 would be no limit

Result<Assignment> SearchWhole(const Problem& problem, const StrategyOptions& options, const SearchOptions& search) {
  const auto begin = std::chrono::steady_clock::now();
  StrategyOptions of_sum = options;
  if (search.seconds > 0 && search.objective == Objective::kSchedule)
    of_sum.values["time"] = kShareOfSums * search.seconds;
  OptimalSearch sums(problem, of_sum);
  SBP_ASSIGN_OR_RETURN(Assignment found, sums.Run());
  if (search.objective == Objective::kSchedule) {
    const OtherPlans others = {.mix = sums.mix() ? &*sums.mix() : nullptr,
                               .uniform = sums.uniform() ? &*sums.uniform() : nullptr,
                               .earlier = sums.earlier() ? &*sums.earlier() : nullptr};
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const double left = search.seconds > 0 ? std::max(kLeastSeconds, search.seconds - taken.count()) : 0;
    SBP_ASSIGN_OR_RETURN(found, ShortenSchedule(problem, options, search, left, std::move(found), others));
  }
  if (search.uniform < 0 || options.only_bound) return found;
  return MakeRegular(problem, options, search, std::move(found));
}

Result<Assignment> SolveOptimal(const Problem& problem, const StrategyOptions& options) {
  if (problem.mesh.num_devices() == 1) {
    return Walk(problem, options).Run(InitialSourceLayouts(problem), DecideOnOneDevice);
  }
  const SearchOptions search = SearchOptionsOf(options);
  if (std::optional<Assignment> again = Replan(problem, options, search)) return *std::move(again);
  if (!LeadsAstray(problem, options)) return SearchWhole(problem, options, search);
  StrategyOptions afresh = options;
  afresh.start_answer.reset();
  afresh.start_signatures.clear();
  afresh.start_sources.clear();
  return SearchWhole(problem, afresh, search);
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
          .goal = GoalOfSearch,
          .uniform = [](const StrategyOptions& options) { return SearchOptionsOf(options).uniform; },
          .reorders = [](const StrategyOptions& options) { return SearchOptionsOf(options).reorders; }};
}

}  // namespace sbp
