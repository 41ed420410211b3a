// A lower bound on the schedule of every plan: what a step takes at least when compute and collectives run side by side
// (schedule/schedule.h), by bounds of weighted prices.
//
// Of a plan let C be the seconds of what its compute stream does at full speed (ops, cuts of kernel groups, boxing that
// moves nothing between devices), K those of its collectives, o the part of its speed that compute keeps beside a
// collective, and X how long both streams work at once. While they do, o X of C is done, so that compute takes
// C + (1 - o) X, and K - X is left of the collectives:
//
//   T >= C + (1 - o) X + K - X = C + K - o X.
//
// (1) X <= K gives T >= C + (1 - o) K; and T >= K, as the communication stream does one thing at a time. With any
//     l in [0, 1], l times the one and 1 - l times the other: T >= l C + (1 - l o) K.
// (2) Let A be the collectives on bottlenecks (bottlenecks.h): beside these only ops set aside, local boxing and cuts
//     are computed, D seconds at full speed. Of X at most K - K_A is beside other collectives, and of the rest o times
//     as much is done as it lasts: o X <= o (K - K_A) + D. Hence T >= C - D + K_A + (1 - o) (K - K_A), and with l as
//     above T >= l (C - D) + (l + 1 - l) K_A + (1 - l o) (K - K_A).
//
// Each is l times a sum of weighted prices, of compute at 1, 0 where it counts as D; so l times a bound of that sum
// over all plans bounds every schedule. Waiting for data and memory only adds to T. What stands at either end is in
// (2): the collectives in front of which, and behind which, everything waits. What a form
// says of one plan is linear in l, so the least over plans is concave: the next l to try is where the least of what is
// known of some plans is greatest.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "problem/problem.h"
#include "strategy/optimal/bottlenecks.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/strategy.h"

namespace sbp {

// No schedule is shorter than `scale` times what its plan takes by the weights.
struct ScheduleForm {
  PriceWeights weights;
  double scale = 1;
};

// Those by which (2) says most of a plan, among a few ways to set ops aside.
Bottlenecks BottlenecksFor(const Problem& problem, const Plan& plan);

// Of (1), or of (2) where `waits`, with l in (0, 1].
ScheduleForm FormOf(const Bottlenecks& bottlenecks, double overlap, bool waits, double l);

// Seconds of a step of the plan by these weights.
double WeightedTotal(const Plan& plan, const PriceWeights& weights);

// Compute seconds of a step, per op.
std::vector<double> SecondsOfOps(const Plan& plan);

// Where a bound is looked for, and what ends that.
struct ScheduleBoundOptions {
  double effort = 1;                  // amount of work, about seconds of one processor
  double gap = 0;                     // stop once the bound is within this share of `step`
  double step = 0;                    // of the best schedule known
  double sum_bound = 0;               // no plan's prices add up to less
  const Assignment* start = nullptr;  // and its choices
};

struct ScheduleBound {
  double seconds = 0;             // no plan's schedule is shorter; 0: nothing is known
  std::vector<Assignment> plans;  // the best ones by the weights: good schedules or near them
};

// `known`: a complete plan of the problem, evaluated, whose forms say which are worth a look. Uses the memory limit,
// threads, seed and `cancelled` of `search`.
ScheduleBound BoundSchedules(const Problem& problem, const Plan& known, const ScheduleBoundOptions& options,
                             const StrategyOptions& search);

}  // namespace sbp
