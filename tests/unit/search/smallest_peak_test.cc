// The smallest peak and its proof against trying everything.
#include "search/smallest_peak.h"

#include <gtest/gtest.h>

#include "unit/search/small_networks.h"

namespace sbp {
namespace {

TEST(SmallestPeak, IsReachedAndProved) {
  int compared = 0;
  int reached = 0;
  int proved = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SmallNetworkOptions kind;
    kind.tightness = 0.1;
    const CostNetwork network = SmallNetwork(seed, kind);
    const std::optional<int64_t> least = SmallestPeakByBruteForce(network);
    if (!least) continue;
    ++compared;
    SolveOptions options;
    options.threads = 1;
    const std::vector<int32_t> choice = SmallestPeak(network, std::vector<int32_t>(network.nodes.size(), 0), options);
    const Evaluation found = Evaluate(network, choice);
    EXPECT_FALSE(found.forbidden) << "seed " << seed;
    EXPECT_GE(found.peak, *least);
    // Peaks within the limit are all alike to the search.
    reached += found.peak == *least || found.peak <= *network.usage_limit;
    const int64_t bound = LeastPeak(network, 0, found.peak, options);
    EXPECT_LE(bound, *least) << "seed " << seed;
    proved += bound == *least;
  }
  EXPECT_GT(compared, 150);
  EXPECT_GE(reached, compared * 49 / 50);
  EXPECT_GT(proved, compared * 9 / 10);
}

}  // namespace
}  // namespace sbp
