// Reductions keep the optimum, and the way back gives what the core promised.
#include "search/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "unit/search/small_networks.h"

namespace sbp {
namespace {

// `stops`: reductions are told to end at some point.
void Compare(const SmallNetworkOptions& kind, uint64_t seeds, bool stops = false) {
  int reduced = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const CostNetwork network = SmallNetwork(seed, kind);
    const std::optional<int64_t> optimum = BruteForce(network);
    uint64_t asked = 0;
    const auto stop = [&] { return stops && ++asked > seed % 5; };
    const auto reduction = Reduction::Of(network, {.stop = stop});
    if (!reduction.ok()) {
      EXPECT_FALSE(optimum) << "seed " << seed << ": " << reduction.status().message();
      continue;
    }
    std::vector<int32_t> best;
    const double least = BruteForceCore(reduction->core(), best);
    reduced += reduction->core().size() < static_cast<int32_t>(network.nodes.size());
    ASSERT_EQ(std::isinf(least), !optimum) << "seed " << seed;
    if (!optimum) continue;
    EXPECT_EQ(least, static_cast<double>(*optimum)) << "seed " << seed;
    const Evaluation found = Evaluate(network, reduction->Expand(best));
    EXPECT_TRUE(found.feasible) << "seed " << seed;
    EXPECT_EQ(found.cost, *optimum) << "seed " << seed;
  }
  EXPECT_GT(reduced, static_cast<int>(seeds / (stops ? 10 : 2)));
}

TEST(Reduction, KeepsTheOptimumWithoutMemory) {
  SmallNetworkOptions kind;
  kind.memory = false;
  kind.edges_per_node = 3;
  Compare(kind, 2000);
}

TEST(Reduction, KeepsTheOptimumUnderMemoryLimits) { Compare({}, 2000); }

TEST(Reduction, KeepsTheOptimumWhenStopped) {
  SmallNetworkOptions kind;
  kind.forbidden = 0.1;
  Compare(kind, 500, true);
}

TEST(Reduction, KeepsTheOptimumOfTiedNodes) {
  SmallNetworkOptions kind;
  kind.one_to_one = 0.8;
  kind.forbidden = 0.05;
  kind.most_nodes = 8;
  Compare(kind, 2000);
}

bool SameCores(const Core& a, const Core& b) {
  bool same = a.size() == b.size() && a.edges.size() == b.edges.size() && a.limits == b.limits && a.times == b.times &&
              a.constant == b.constant;
  for (int32_t v = 0; same && v < a.size(); ++v) {
    const auto usages = [](const Core::Hold& hold) { return std::tie(hold.begin, hold.end, hold.usages); };
    same = a.nodes[v].costs == b.nodes[v].costs &&
           std::ranges::equal(a.nodes[v].holds, b.nodes[v].holds, {}, usages, usages);
  }
  for (size_t e = 0; same && e < a.edges.size(); ++e) {
    same = std::ranges::equal(a.edges[e].nodes, b.edges[e].nodes) &&
           a.matrices()[a.edges[e].matrix] == b.matrices()[b.edges[e].matrix];
  }
  return same;
}

// What is remembered saves work only.
TEST(Reduction, IsTheSameWithAMemoryOfOthers) {
  SmallNetworkOptions kind;
  kind.forms = 0.3;
  kind.most_nodes = 9;
  int compared = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    CostNetwork network = SmallNetwork(seed, kind);
    ReductionMemory memory;
    for (int round = 0; round < 3; ++round) {
      const auto alone = Reduction::Of(network);
      const auto with_memory = Reduction::Of(network, {.stop = {}, .memory = &memory});
      ASSERT_EQ(alone.ok(), with_memory.ok()) << "seed " << seed;
      if (alone.ok()) {
        EXPECT_TRUE(SameCores(alone->core(), with_memory->core())) << "seed " << seed << " round " << round;
        ++compared;
      }
      if (network.usage_limit) *network.usage_limit -= *network.usage_limit / 8;
    }
  }
  EXPECT_GT(compared, 700);
}

// Four nodes in a ring, costs at random.
CostNetwork Ring(int candidates) {
  Random random(7);
  CostNetworkBuilder builder;
  const auto add_costs = [&](int count) {
    std::vector<int64_t> costs(static_cast<size_t>(count));
    for (int64_t& cost : costs) cost = random.Below(1'000'000);
    return builder.AddCosts(std::span<const int64_t>(costs));
  };
  for (int node = 0; node < 4; ++node) builder.nodes().push_back({.costs = add_costs(candidates)});
  for (int node = 0; node < 4; ++node)
    builder.edges().push_back({{node, (node + 1) % 4}, add_costs(candidates * candidates)});
  return std::move(builder).Build().value();
}

// To eliminate a node takes the product of three sizes: beyond a bound it stays.
TEST(Reduction, LeavesNodesOfVeryLargeTables) {
  const auto small = Reduction::Of(Ring(20)), large = Reduction::Of(Ring(300));
  ASSERT_TRUE(small.ok() && large.ok());
  EXPECT_LE(small->core().size(), 1);
  EXPECT_EQ(large->core().size(), 4);
}

}  // namespace
}  // namespace sbp
