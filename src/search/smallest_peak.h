// How little memory a problem can do with: for the message that nothing fits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/cost_network.h"
#include "search/solve.h"

namespace sbp {

// A choice without forbidden entries whose peak is as small as the search finds, begun from `start`; costs do not
// matter. Halves the limit between the best peak and the largest limit at which nothing was found, a fixed amount of
// work each. `start` itself where nothing better is found.
std::vector<int32_t> SmallestPeak(const CostNetwork& network, std::span<const int32_t> start,
                                  const SolveOptions& options);

// A proof of how little memory does not do: no choice without forbidden entries has a peak below what is returned.
// `least`: that much is known already (0: nothing). `reached` is the peak of some choice: the returned number is not
// above it. A fixed amount of work.
int64_t LeastPeak(const CostNetwork& network, int64_t least, int64_t reached, const SolveOptions& options);

}  // namespace sbp
