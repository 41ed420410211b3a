// What the bounds of an earlier plan say of a problem that differs from the earlier one in its pins, without a search.
//
// Pins that were added leave fewer plans: the bounds hold. A pin of a source (an input or a parameter) that is gone
// adds plans; each of them becomes one that keeps to the pin, where that source starts as it says and goes straight to
// all that read it. That costs no more than the dearest such moves, so that bounds less those hold. (All forms of
// schedule_bound.h, scaled, are sums of prices whose factors are at most 1.)
#pragma once

#include <cstdint>
#include <optional>

#include "problem/problem.h"
#include "strategy/optimal/changed_pins.h"
#include "strategy/strategy.h"

namespace sbp {

struct KeptBound {
  double sum = 0;       // of all prices of any plan
  double schedule = 0;  // of any plan's schedule; 0: not known
};

// `before`: the earlier answer, `changed` how its pins differ. `limit`: as StrategyOptions has it. Nothing: another
// kind of pin is gone, a limit stands in the way, or no bound is known.
std::optional<KeptBound> BoundThatHolds(const Problem& problem, const EarlierAnswer& before, const ChangedPins& changed,
                                        std::optional<int64_t> limit);

}  // namespace sbp
