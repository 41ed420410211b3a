// From the plan of the least sum of prices to one of a short schedule (schedule/schedule.h), in which compute hides
// what it can of the collectives.
#pragma once

#include "base/status.h"
#include "problem/problem.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {

// Answers beside `summed`, or null.
struct OtherPlans {
  const Assignment* mix = nullptr;      // where that is uniform
  const Assignment* uniform = nullptr;  // where that is a mix
  const Assignment* earlier = nullptr;  // of the plan that the search began with, whose sum may be greater
};

// The assignment of the shortest schedule found, with Assignment::schedule_bound_seconds: never longer than that of
// `summed`, a complete answer within the memory limit. With options.only_bound it is `summed`, with that bound. Mixes,
// of `others` and those met underway, must be better by more than the share that uniformity may cost, and so must what
// the search began with; a uniform plan may be longer by that. A plan that sends nothing stays unless one with
// collectives is shorter by a twentieth: prices err by as much, and what is not sent cannot be late.
//
// Prices stay sums of one op and of two, so the search goes in rounds, each of which has other weights for them:
//  - A second of a collective counts as what it added to the last schedule, all of it where nothing was computed
//    meanwhile, else what it slowed compute by. Collectives of tensors of equal types, producers and readers count
//    alike, so that repeated layers stay alike; those that no schedule has shown yet count as the mean of the last one
//    does, in full if they are of bottlenecks.
//  - Either side of the step counts by what that has more to do of (side_weights.h).
// Networks count no boxed copies: where what a round finds exceeds the memory limit by such, it searches again with
// room for them (copy_room.h), a few times. So plans that hold less, and gather weights while others are computed with,
// are among those whose schedules are compared. The second kind goes first; on graphs of many ops the first only
// follows where it finds nothing. Either ends when a round finds nothing new (the first kind then once counts half of
// what schedules have shown, and goes on), after a few rounds without a gain, or when the best schedule is within the
// gap of the bound; a round takes a part of the effort. Deterministic but for `cancelled` and `seconds`, above 0: the
// most that it takes.
Result<Assignment> ShortenSchedule(const Problem& problem, const StrategyOptions& options, const SearchOptions& search,
                                   double seconds, Assignment summed, const OtherPlans& others = {});

}  // namespace sbp
