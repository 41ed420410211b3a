// Choices made good again under another limit: never worse than before, and nearly what trying everything finds.
#include "search/mend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "search/memory_prices.h"
#include "search/solve.h"
#include "unit/search/small_networks.h"

namespace sbp {
namespace {

TEST(Mend, FindsTheBestUnderALowerLimit) {
  int feasible = 0, best = 0;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    CostNetwork network = SmallNetwork(seed, {});
    const SolveResult before = Solve(network, {.effort = 0.1, .threads = 1});
    if (!before.evaluation.feasible) continue;
    network.usage_limit = before.evaluation.peak - 1;
    const SolveResult mended =
        Mend(network, before.choice, {.effort = 0.1, .threads = 1, .prices = before.prices, .stop = {}});
    EXPECT_EQ(mended.evaluation.cost, Evaluate(network, mended.choice).cost) << "seed " << seed;
    EXPECT_FALSE(mended.evaluation.forbidden) << "seed " << seed;
    const std::optional<int64_t> optimum = BruteForce(network);
    if (!optimum) continue;
    ++feasible;
    if (mended.evaluation.feasible && mended.evaluation.cost == *optimum) ++best;
  }
  EXPECT_GT(feasible, 150);
  EXPECT_GT(best, feasible * 8 / 10);
}

TEST(Mend, LosesNothingWhereTheLimitIsKept) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const CostNetwork network = SmallNetwork(seed, {});
    const SolveResult before = Solve(network, {.effort = 0.01, .threads = 1});
    if (!before.evaluation.feasible) continue;
    const SolveResult mended = Mend(network, before.choice, {.effort = 0.01, .threads = 1, .prices = {}, .stop = {}});
    EXPECT_TRUE(mended.evaluation.feasible) << "seed " << seed;
    EXPECT_LE(mended.evaluation.cost, before.evaluation.cost) << "seed " << seed;
  }
}

TEST(Mend, DoesNotDependOnTheNumberOfThreads) {
  CostNetwork network = SmallNetwork(11, {.most_nodes = 40, .tightness = 0.5});
  const std::vector<int32_t> start(network.nodes.size(), 0);
  const SolveResult one = Mend(network, start, {.effort = 0.2, .threads = 1, .prices = {}, .stop = {}});
  const SolveResult two = Mend(network, start, {.effort = 0.2, .threads = 2, .prices = {}, .stop = {}});
  EXPECT_EQ(one.choice, two.choice);
}

TEST(MemoryPrices, WhatAStepPaidTheNearestOnePays) {
  Core before, after;
  before.times = {2, 10, 30};
  before.limits = {0, 0, 0};
  before.scale = 4;
  after.times = {3, 28};
  after.limits = {0, 0};
  after.scale = 2;
  const std::vector<MemoryPrice> prices = PricesOfNetwork(std::vector<double>{8, 0, 12}, before, 0.5);
  ASSERT_EQ(prices.size(), 2u);
  EXPECT_EQ(prices[1].time, 30);
  EXPECT_DOUBLE_EQ(prices[1].price, 1.5);
  EXPECT_THAT(PricesOfCore(prices, after, 0.5), testing::ElementsAre(4, 6));
  after.times = {};
  after.limits = {};
  EXPECT_TRUE(PricesOfCore(prices, after, 0.5).empty());
}

}  // namespace
}  // namespace sbp
