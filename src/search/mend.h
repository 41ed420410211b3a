// A choice made good again after the limits have changed a little: nearly the same problem was searched before, so that
// its prices of memory are known, and no bound is wanted. Neighbourhoods alone (neighbourhood.h), without the dual
// ascent, which takes nearly all of a search's time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "search/cost_network.h"
#include "search/memory_prices.h"
#include "search/solve.h"

namespace sbp {

struct MendOptions {
  double effort = 1;                    // amount of work, about seconds of one processor
  int threads = 2;                      // the choice does not depend on it
  uint64_t seed = 0;                    // of the random parts
  std::span<const MemoryPrice> prices;  // SolveResult::prices of a network of other limits
  std::function<bool()> stop;           // asked now and then: stop at once?
};

// The best choice found from `start`, one candidate per node: of less excess above the limit (summed over time), then
// of less cost. Not worse than `start`. Its bounds say nothing and are 0.
SolveResult Mend(const CostNetwork& network, std::span<const int32_t> start, const MendOptions& options);

}  // namespace sbp
