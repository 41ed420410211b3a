// optimal: all signatures together (optimal_search.h), then the shortest schedule from there (overlap_search.h).
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/status.h"
#include "plan/layer_kinds.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "schedule/schedule.h"
#include "strategy/all_strategies.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/first_plans.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/optimal_search.h"
#include "strategy/optimal/overlap_search.h"
#include "strategy/optimal/regular.h"
#include "strategy/optimal/replan.h"
#include "strategy/optimal/scheduled_plan.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

constexpr double kShareOfSums = 0.5;    // of the time, at most; the search for a shorter schedule has what is left
constexpr double kLeastSeconds = 1e-3;  // of the latter: 0 would be no limit
// By the gap that is good enough: from there on a plan under a limit is compared with what is found without it.
constexpr double kGapsOfLimited = 3;
constexpr size_t kMostOpsToCompare = 5'000;  // of a graph
constexpr size_t kMostOpsToTighten = 1'500;  // likewise
constexpr double kTighter = 0.9;             // of the limit
constexpr double kMayFit = 1.4;  // by the limit: a plan of the least sum holds more than one of a short schedule, often
constexpr size_t kOpsOfFirstPlans = 60'000;  // of known ways together, whose first plans are compared

struct Priced {
  int64_t peak = 0;   // bytes
  double step = 0;    // seconds, of the schedule
  int32_t kinds = 0;  // of repeated layers
};

Result<Priced> PriceOf(const Problem& problem, const StrategyOptions& options, const Assignment& assignment) {
  SBP_ASSIGN_OR_RETURN(const Plan plan, ScheduledPlan(problem, options, assignment));
  return Priced{plan.memory.peak_bytes, MakeSchedule(plan).summary.step, KindsOfLayers(plan).kinds};
}

// The last steps of each search: a short schedule, and fewer kinds of layers. `seconds`: as ShortenSchedule has it.
Result<Assignment> Shorten(const Problem& problem, const StrategyOptions& options, const SearchOptions& search,
                           double seconds, Assignment found, const OtherPlans& others = {}) {
  if (search.objective == Objective::kSchedule) {
    SBP_ASSIGN_OR_RETURN(found, ShortenSchedule(problem, options, search, seconds, std::move(found), others));
  }
  if (search.uniform < 0 || options.only_bound) return found;
  return MakeRegular(problem, options, search, std::move(found));
}

// `goes_on`, where given: is the plan of the least sum worth the search for a short schedule?
Result<Assignment> SearchWhole(const Problem& problem, const StrategyOptions& options, const SearchOptions& search,
                               const std::function<bool(const Assignment&)>& goes_on = nullptr) {
  const auto begin = std::chrono::steady_clock::now();
  StrategyOptions of_sum = options;
  if (search.seconds > 0 && search.objective == Objective::kSchedule)
    of_sum.values["time"] = kShareOfSums * search.seconds;
  OptimalSearch sums(problem, of_sum);
  SBP_ASSIGN_OR_RETURN(Assignment found, sums.Run());
  if (goes_on && !goes_on(found)) return NoPlan("this leads nowhere");
  const OtherPlans others = {.mix = sums.mix() ? &*sums.mix() : nullptr,
                             .uniform = sums.uniform() ? &*sums.uniform() : nullptr,
                             .earlier = sums.earlier() ? &*sums.earlier() : nullptr};
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  const double left = search.seconds > 0 ? std::max(kLeastSeconds, search.seconds - taken.count()) : 0;
  return Shorten(problem, options, search, left, std::move(found), others);
}

bool MayCompare(const Problem& problem, const StrategyOptions& options, const SearchOptions& search) {
  if (!options.memory_limit || options.only_bound || options.only_begins) return false;
  if (search.objective != Objective::kSchedule || search.seconds > 0) return false;
  if (options.cancelled && options.cancelled()) return false;
  const Result<CandidateLists> all = CandidateLists::All(problem);
  return problem.num_ops() <= kMostOpsToCompare && all.ok() && FitsNetwork(problem, *all, false);
}

// The best plan known under the limit, and what is known of all.
class LimitedSearch {
 public:
  LimitedSearch(const Problem& problem, const StrategyOptions& options, const SearchOptions& search, Assignment found,
                const Priced& priced)
      : problem_(problem), options_(options), search_(search), best_(std::move(found)), priced_(priced) {}

  // Searches under a limit look elsewhere than those without: what the latter find may fit and be shorter all the same,
  // or a limit just above what a plan holds would lead to a longer one.
  void TryWithoutLimit() {
    if (IsNear()) return;
    StrategyOptions free = options_;
    free.memory_limit.reset();
    free.found = nullptr;  // what it meets need not fit
    Take(SearchWhole(problem_, free, search_, [&](const Assignment& summed) {
      const Result<Priced> priced = PriceOf(problem_, free, summed);
      return priced.ok() && static_cast<double>(priced->peak) <= kMayFit * static_cast<double>(*options_.memory_limit);
    }));
  }

  // A search under a limit ends where no step leads further, one under another limit elsewhere: a plan that holds less
  // may be the shorter one.
  void TryTighter() {
    if (!options_.memory_limit || problem_.num_ops() > kMostOpsToTighten || IsNear()) return;
    StrategyOptions tighter = options_;
    tighter.found = nullptr;
    tighter.memory_limit = static_cast<int64_t>(kTighter * static_cast<double>(*options_.memory_limit));
    Result<Assignment> found = SearchWhole(problem_, tighter, search_);
    if (!found.ok()) return;
    found->lower_bound_seconds = 0;  // of plans within that limit only
    found->schedule_bound_seconds.reset();
    Take(std::move(found));
  }

  // Nor does a plan of a small sum know what its schedule could hide: the first plans of known ways are compared by
  // their schedules, and the search for a short one begins with the best of them, too.
  void TryFirstOfWays() {
    if (IsNear()) return;
    std::optional<Assignment> first;
    double least = priced_.step;
    const Status offered = OfferFirstPlans(problem_, options_, kOpsOfFirstPlans, [&](const Assignment& assignment) {
      const Result<Priced> priced = PriceOf(problem_, options_, assignment);
      if (!priced.ok() || priced->step >= least) return OkStatus();
      least = priced->step;
      first = assignment;
      return OkStatus();
    });
    if (!offered.ok() || !first) return;
    // What is known of all plans stays; what einsum says of its choices is of the way.
    Assignment begin = best_;
    begin.ops = std::move(first->ops);
    begin.sources = std::move(first->sources);
    begin.reasons = {"part of a known way whose schedule is short"};
    for (OpChoice& choice : begin.ops) choice = {.candidate = choice.candidate};
    begin.conflicts.clear();
    Take(Shorten(problem_, options_, search_, 0, std::move(begin)));
  }

  const Assignment& best() const { return best_; }

 private:
  bool IsNear() const {
    const double gap = priced_.step - best_.schedule_bound_seconds.value_or(0);
    return gap <= kGapsOfLimited * search_.gap * priced_.step;
  }

  // Of more kinds of layers by more than the share that is asked for.
  bool IsBetter(const Priced& priced) const {
    const bool has_more = search_.uniform >= 0 && priced.kinds > priced_.kinds;
    return priced.step < priced_.step * (has_more ? 1 - search_.uniform : 1);
  }

  // A plan of another search, and its bounds.
  void Take(Result<Assignment> found) {
    if (!found.ok()) return;
    const double sum_bound = std::max(best_.lower_bound_seconds, found->lower_bound_seconds);
    const double bound = std::max(best_.schedule_bound_seconds.value_or(0), found->schedule_bound_seconds.value_or(0));
    const Result<Priced> priced = PriceOf(problem_, options_, *found);
    if (priced.ok() && priced->peak <= *options_.memory_limit && IsBetter(*priced)) {
      best_ = *std::move(found);
      priced_ = *priced;
    }
    best_.lower_bound_seconds = sum_bound;
    if (bound > 0) best_.schedule_bound_seconds = std::min(priced_.step, bound);
  }

  const Problem& problem_;
  const StrategyOptions& options_;
  const SearchOptions& search_;
  Assignment best_;
  Priced priced_;
};

Result<Assignment> SearchWithin(const Problem& problem, const StrategyOptions& options, const SearchOptions& search) {
  Result<Assignment> found = SearchWhole(problem, options, search);
  if (!found.ok() || !MayCompare(problem, options, search)) return found;
  SBP_ASSIGN_OR_RETURN(const Priced priced, PriceOf(problem, options, *found));
  LimitedSearch limited(problem, options, search, *std::move(found), priced);
  limited.TryWithoutLimit();
  limited.TryFirstOfWays();
  limited.TryTighter();
  return limited.best();
}

Result<Assignment> SolveOptimal(const Problem& problem, const StrategyOptions& options) {
  if (problem.mesh.num_devices() == 1) {
    return Walk(problem, options).Run(InitialSourceLayouts(problem), DecideOnOneDevice);
  }
  const SearchOptions search = SearchOptionsOf(options);
  if (std::optional<Assignment> again = Replan(problem, options, search)) return *std::move(again);
  if (!LeadsAstray(problem, options)) return SearchWithin(problem, options, search);
  StrategyOptions afresh = options;
  afresh.start_answer.reset();
  afresh.start_signatures.clear();
  afresh.start_sources.clear();
  return SearchWithin(problem, afresh, search);
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
