// Generated layout problems: as large as asked, the same for a seed, dense, with a limit that can just be kept.
#include "generate/layout_problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "generate/generate.h"
#include "generate/options.h"
#include "search/cost_network.h"
#include "search/iopddl.h"
#include "search/smallest_peak.h"
#include "search/solve.h"

namespace sbp {
namespace {

CostNetwork Problem(const GenerateOptions& options) {
  Result<CostNetwork> made = GenerateLayoutProblem(options);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

TEST(LayoutProblem, IsAsLargeAsAskedAndTheSameForASeed) {
  for (const int64_t ops : {1, 10, 100, 5000}) {
    const CostNetwork network = Problem({.ops = ops, .seed = 3});
    EXPECT_GE(static_cast<int64_t>(network.nodes.size()), ops);
    EXPECT_LE(static_cast<int64_t>(network.nodes.size()), ops + 10);
  }
  const std::string text = FormatIopddl(Problem({.ops = 300, .seed = 3}));
  EXPECT_EQ(text, FormatIopddl(Problem({.ops = 300, .seed = 3})));
  EXPECT_NE(text, FormatIopddl(Problem({.ops = 300, .seed = 4})));
  const auto read = ParseIopddl(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(text, FormatIopddl(*read));
}

TEST(LayoutProblem, EdgesAreDense) {
  const CostNetwork network = Problem({.ops = 400, .seed = 1});
  int64_t entries = 0, positive = 0;
  std::set<int64_t> values;
  for (const CostNetwork::Edge& edge : network.edges) {
    for (const int64_t cost : network.costs[edge.costs]) {
      ASSERT_GE(cost, 0);
      ASSERT_LT(cost, kInfiniteCost);
      values.insert(cost);
      positive += cost > 0 ? 1 : 0;
      ++entries;
    }
  }
  EXPECT_GT(positive, entries / 2);
  EXPECT_GT(values.size(), 50u);
}

TEST(LayoutProblem, ItsLimitIsTheSmallestPeakAndTheSlack) {
  for (const double slack : {0.0, 0.1, 0.5}) {
    CostNetwork network = Problem({.ops = 60, .seed = 2, .problem = {.devices = 8, .slack = slack}});
    // All smallest parts at once: what the limit is made from.
    std::vector<int32_t> smallest;
    for (const CostNetwork::Node& node : network.nodes) {
      const auto usages = network.usages[node.usages];
      smallest.push_back(static_cast<int32_t>(std::min_element(usages.begin(), usages.end()) - usages.begin()));
    }
    const int64_t peak = Evaluate(network, smallest).peak;
    EXPECT_EQ(static_cast<int64_t>(static_cast<double>(peak) * (1 + slack)), *network.usage_limit);
    EXPECT_TRUE(Solve(network, {.effort = 0.2}).evaluation.feasible);
  }
}

TEST(LayoutProblem, GatheringCostsWhatOtherDevicesHold) {
  // Two devices on one axis; a block: x, weight, state, product, ... The product reads x along dimension 0 or 1.
  const CostNetwork network = Problem({.ops = 1, .seed = 0, .problem = {.devices = 2, .axes = 1}});
  const CostNetwork::Edge& edge = network.edges.front();
  ASSERT_EQ(0, edge.nodes[0]);
  const auto part = network.usages[network.nodes[0].usages];
  const auto cost = [&](int32_t from, int32_t to) {
    return network.costs[edge.costs][network.EntryOf(edge, from, to)];
  };
  EXPECT_EQ(part[0], 2 * part[1]);
  EXPECT_EQ(0, cost(0, 0));            // whole to whole
  EXPECT_EQ(part[1], cost(1, 0));      // gathered: the other half
  EXPECT_EQ(0, cost(0, 1));            // each keeps its half
  EXPECT_EQ(part[1] / 2, cost(2, 1));  // exchanged: half of a half
}

TEST(LayoutProblem, RefusesWhatItCannotMake) {
  const auto message = [](const GenerateOptions& options) { return GenerateLayoutProblem(options).status().message(); };
  EXPECT_EQ("--devices 24: expected a power of two, at least 4 on 2 axes (say 16)",
            message({.ops = 10, .problem = {.devices = 24}}));
  EXPECT_EQ("--devices 4: expected a power of two, at least 8 on 3 axes (say 8)",
            message({.ops = 10, .problem = {.devices = 4, .axes = 3}}));
  EXPECT_NE(
      std::string::npos,
      message({.ops = 1'000'000, .problem = {.devices = 64, .axes = 3}}).find("tables of more than 200000000 entries"));
  EXPECT_NE(std::string::npos,
            message({.ops = 200'000, .problem = {.devices = 64, .axes = 3}}).find("expected at most 200000000"));
  EXPECT_FALSE(GenerateGraph("iopddl-like", {.ops = 10}).ok());
}

}  // namespace
}  // namespace sbp
