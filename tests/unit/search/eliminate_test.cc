// Elimination against trying everything.
#include "search/eliminate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "search/reduce.h"
#include "unit/search/small_networks.h"

namespace sbp {
namespace {

constexpr int64_t kPlenty = 1'000'000'000;

EliminationPart Whole(const Core& core) {
  EliminationPart part;
  for (int32_t node = 0; node < core.size(); ++node) {
    part.nodes.push_back(node);
    part.costs.push_back(core.nodes[node].costs);
    std::vector<int32_t>& candidates = part.candidates.emplace_back();
    for (int32_t a = 0; a < core.candidates(node); ++a) candidates.push_back(a);
  }
  return part;
}

SmallNetworkOptions Dense() {
  SmallNetworkOptions kind;
  kind.memory = false;
  kind.most_nodes = 9;
  kind.most_candidates = 4;
  kind.forbidden = 0.05;
  kind.edges_per_node = 6;
  kind.one_to_one = 0;
  return kind;
}

TEST(Eliminate, EqualsBruteForce) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const auto reduction = Reduction::Of(SmallNetwork(seed, Dense()));
    if (!reduction.ok() || reduction->core().size() < 4) continue;
    const Core& core = reduction->core();
    std::vector<int32_t> best;
    const double least = BruteForceCore(core, best);
    const EliminationResult result = Eliminate(core, Whole(core), kPlenty);
    ASSERT_TRUE(result.complete);
    EXPECT_GT(result.work, 0);
    ASSERT_EQ(result.found, !std::isinf(least)) << "seed " << seed;
    ++compared;
    if (!result.found) continue;
    EXPECT_EQ(CostOf(core, result.choice) / core.scale, least) << "seed " << seed;
  }
  EXPECT_GT(compared, 100);
}

// A part: some candidates of some nodes, the others as they are.
TEST(Eliminate, KeepsToThePart) {
  int compared = 0;
  int forbidden = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SmallNetworkOptions kind = Dense();
    kind.forbidden = 0.08;
    const auto reduction = Reduction::Of(SmallNetwork(seed, kind));
    if (!reduction.ok() || reduction->core().size() < 4) continue;
    const Core& core = reduction->core();
    std::vector<int32_t> choice(core.nodes.size(), 0);
    bool outside = true;  // what the others cost among themselves is finite
    for (int32_t node = 1; node < core.size(); node += 2) {
      outside = outside && core.nodes[node].costs[0] < kForbidden;
      for (const Core::Link& link : core.links[node]) {
        outside = outside && (link.other % 2 == 0 || link.by_other->at(0, 0) < kForbidden);
      }
    }
    if (!outside) continue;
    EliminationPart part;
    for (int32_t node = 0; node < core.size(); node += 2) {
      std::vector<int32_t> candidates;
      std::vector<double> costs;
      for (int32_t a = core.candidates(node) > 1 ? 1 : 0; a < core.candidates(node); ++a) {
        double cost = core.nodes[node].costs[a];
        for (const Core::Link& link : core.links[node]) {
          if (link.other % 2 == 1) cost += link.by_other->at(choice[link.other], a);
        }
        candidates.push_back(a);
        costs.push_back(cost);
      }
      part.nodes.push_back(node);
      part.candidates.push_back(candidates);
      part.costs.push_back(costs);
    }
    const EliminationResult result = Eliminate(core, part, kPlenty);
    ASSERT_TRUE(result.complete);
    const auto put = [&](std::span<const int32_t> tried) {
      for (size_t i = 0; i < tried.size(); ++i) choice[part.nodes[i]] = tried[i];
      return CostOf(core, choice);
    };
    double least = kForbidden;
    std::vector<size_t> at(part.nodes.size(), 0);
    std::vector<int32_t> tried(part.nodes.size());
    for (size_t i = 0; i < at.size();) {
      for (size_t j = 0; j < at.size(); ++j) tried[j] = part.candidates[j][at[j]];
      least = std::min(least, put(tried));
      for (i = 0; i < at.size() && ++at[i] == part.candidates[i].size(); ++i) at[i] = 0;
    }
    ASSERT_EQ(result.found, !std::isinf(least)) << "seed " << seed;
    ++compared;
    forbidden += !result.found;
    if (!result.found) continue;
    EXPECT_EQ(put(result.choice), least) << "seed " << seed;
  }
  EXPECT_GT(compared, 30);
  EXPECT_GT(forbidden, 0);
}

TEST(Eliminate, GivesUpBeforeItBegins) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto reduction = Reduction::Of(SmallNetwork(seed, Dense()));
    if (!reduction.ok() || reduction->core().size() < 4) continue;
    const EliminationResult result = Eliminate(reduction->core(), Whole(reduction->core()), 10);
    EXPECT_FALSE(result.complete);
    EXPECT_EQ(result.work, 0);
    return;
  }
  FAIL() << "no core was left";
}

}  // namespace
}  // namespace sbp
