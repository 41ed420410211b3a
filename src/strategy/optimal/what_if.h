// What if an op were forced to another candidate, and everything else chosen anew? Asked on demand (`explain`), since a
// plan need not carry what only some reader of some op wants to know.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategy/strategy.h"

namespace sbp {

// Seconds of the fastest step with one candidate forced: proved where both are equal (up to rounding).
struct ForcedStep {
  double at_least = 0;  // infinity: there is no such plan
  double at_most = 0;   // infinity: none was found
};

// The answer for each of `candidates` (indices into the op's list that pins allow), with `best`, a plan of the problem,
// as where to begin. The first `searched` get a search of their own each, with a fixed amount of work: the bound is
// that of the relaxed network; the best choice there, priced as a plan, is the other end. The others get the
// min-marginals of one search in which nothing is forced as bounds, and `best` with only this op changed as the other
// end. Uses options.memory_limit, seed, threads; once options.cancelled, what is left is open. Errors: as
// LayoutNetwork::Build.
Result<std::vector<ForcedStep>> StepsIfForced(const Problem& problem, const Assignment& best, OpId op,
                                              std::span<const uint32_t> candidates, size_t searched,
                                              const StrategyOptions& options);

}  // namespace sbp
