// A lower bound on the schedule of every plan: what a step takes at least when compute and collectives run side by side
// (schedule/schedule.h), by bounds of weighted prices.
//
// The forms of schedule_forms.h bound the schedule of one plan by weighted sums of its prices, so the least of such a
// sum over all plans, or a bound of it by the solver, bounds every schedule. What a form says of one plan is concave in
// its two l, and so is the least over plans: the next form to try is where the least of what is known of some plans is
// greatest.
#pragma once

#include <limits>
#include <set>
#include <vector>

#include "plan/plan.h"
#include "problem/problem.h"
#include "strategy/optimal/schedule_forms.h"
#include "strategy/strategy.h"

namespace sbp {

// Where a bound is looked for, and what ends that.
struct ScheduleBoundOptions {
  double effort = 1;                                 // amount of work, about seconds of one processor
  double gap = 0;                                    // stop once the bound is within this share of `step`
  double step = 0;                                   // of the best schedule known
  double sum_bound = 0;                              // no plan's prices add up to less
  const Assignment* start = nullptr;                 // and its choices
  int most_tries = std::numeric_limits<int>::max();  // forms to look at, where that is less than it thinks fit
  const KnownForms* forms = nullptr;                 // of plans of the problem; null: of the known plan alone
  // Tried before, of the same problem and limit: not worth another look. Those tried now are added. Null: none.
  std::set<ScheduleForm>* tried = nullptr;
};

struct ScheduleBound {
  double seconds = 0;             // no plan's schedule is shorter; 0: nothing is known
  std::vector<Assignment> plans;  // the best ones by the weights: good schedules or near them
};

// What a bound of the sum of all prices says of schedules, by forms (1) without a search: with both l at 1 / (1 + o)
// all prices weigh alike; with both at 1 a step lasts at least o C + (1 - o) (C + K), where no plan's ops take less
// than each at its best.
double BoundBySums(const Problem& problem, double sum_bound);

// `known`: a complete plan of the problem, evaluated, whose forms say which are worth a look. Uses the memory limit,
// threads, seed and `cancelled` of `search`.
ScheduleBound BoundSchedules(const Problem& problem, const Plan& known, const ScheduleBoundOptions& options,
                             const StrategyOptions& search);

}  // namespace sbp
