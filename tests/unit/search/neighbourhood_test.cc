// Neighbourhoods keep true books, blends fit, and both find what trying everything finds.
#include "search/neighbourhood.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/blend.h"
#include "search/core.h"
#include "search/part_memory.h"
#include "search/random.h"
#include "unit/search/small_networks.h"

namespace sbp {
namespace {

// Nodes of 2 to 4 candidates that hold memory, and edges here and there.
Core SmallCore(Random& random) {
  constexpr int32_t kSteps = 6;
  Core core;
  const int32_t nodes = 2 + random.Below(7);
  for (int32_t i = 0; i < nodes; ++i) {
    const int32_t begin = random.Below(kSteps);
    Core::Node node;
    Core::Hold hold{begin, begin + 1 + random.Below(kSteps - begin), {0}};
    const int32_t candidates = 2 + random.Below(3);
    for (int32_t a = 0; a < candidates; ++a) node.costs.push_back(random.Below(30));
    for (int32_t a = 1; a < candidates; ++a) hold.usages.push_back(random.Below(10));
    std::swap(hold.usages[0], hold.usages[random.Below(candidates)]);
    node.holds.push_back(std::move(hold));
    core.nodes.push_back(std::move(node));
  }
  for (int32_t b = 1; b < nodes; ++b) {
    for (int32_t a = 0; a < b; ++a) {
      if (random.Below(nodes) > 2) continue;
      std::vector<double> entries;
      for (int32_t i = 0; i < core.candidates(a) * core.candidates(b); ++i) entries.push_back(random.Below(30));
      const MatrixId matrix =
          core.matrices().Add(Matrix::Plain(core.candidates(a), core.candidates(b), std::move(entries)));
      core.edges.push_back({{a, b}, matrix});
    }
  }
  for (int32_t step = 0; step < kSteps; ++step) core.limits.push_back(3 + random.Below(3 * nodes));
  MakeLinks(core);
  return core;
}

std::vector<int32_t> AnyChoice(const Core& core, Random& random) {
  std::vector<int32_t> choice;
  for (int32_t node = 0; node < core.size(); ++node) choice.push_back(random.Below(core.candidates(node)));
  return choice;
}

TEST(PartMemory, SaysWhatExceedsAsTheWholeDoes) {
  int parts = 0, exceeded = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Core core = SmallCore(random);
    std::vector<int32_t> choice = AnyChoice(core, random);
    PartMemory memory(core);
    memory.SetUsage(UsageOf(core, choice));
    for (int change = 0; change < 10; ++change) {
      std::vector<int32_t> nodes, before, after;
      for (int32_t node = 0; node < core.size(); ++node) {
        if (random.Below(2) == 0) continue;
        nodes.push_back(node);
        before.push_back(choice[node]);
        after.push_back(random.Below(core.candidates(node)));
      }
      const double start = ExcessOf(core, UsageOf(core, choice));
      std::vector<int32_t> changed = choice;
      for (size_t i = 0; i < nodes.size(); ++i) changed[nodes[i]] = after[i];
      const double truth = ExcessOf(core, UsageOf(core, changed));
      memory.Open(nodes, before, true);
      const double had = memory.Try(before);
      EXPECT_EQ(truth - start, memory.Try(after) - had) << "seed " << seed;
      if (start == 0) {
        memory.Open(nodes, before, false);
        EXPECT_EQ(0, memory.Try(before));
        EXPECT_EQ(truth > 0, memory.Try(after) > 0) << "seed " << seed;
        ++parts;
        exceeded += truth > 0 ? 1 : 0;
        if (truth > 0) continue;
      }
      memory.Put();
      choice = changed;
    }
  }
  EXPECT_GT(parts, 200);
  EXPECT_GT(exceeded, 50);
}

// A core of nodes with two candidates each and no edges: a knapsack over time.
Core Knapsack(Random& random, int32_t nodes, int32_t steps) {
  Core core;
  for (int32_t i = 0; i < nodes; ++i) {
    const int32_t begin = random.Below(steps);
    const int32_t end = begin + 1 + random.Below(steps - begin);
    const double more = random.Below(10);
    const bool frees = random.Below(4) == 0;
    core.nodes.push_back({{0, static_cast<double>(random.Below(20)) - 15},
                          {{begin, end, frees ? std::vector{more, 0.0} : std::vector{0.0, more}}},
                          {}});
  }
  for (int32_t step = 0; step < steps; ++step) core.limits.push_back(10);
  MakeLinks(core);
  return core;
}

TEST(Blend, FitsAndPays) {
  int best = 0, all = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Core core = Knapsack(random, 8, 5);
    std::vector<int32_t> nodes(core.nodes.size()), first(nodes.size(), 0);
    for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int32_t>(i);
    if (ExcessOf(core, UsageOf(core, first)) > 0) continue;
    PartMemory memory(core);
    memory.SetUsage(UsageOf(core, first));
    memory.Open(nodes, first, false);
    Blend blend;
    blend.Clear();
    for (int32_t i = 0; i < core.size(); ++i) {
      EXPECT_EQ(i, blend.AddPiece());
      blend.AddCost(i, core.nodes[i].costs[1] - core.nodes[i].costs[0]);
      blend.AddChange(i, i, 0, 1);
    }
    memory.Try(first);
    const double cost = blend.Solve(memory, memory.used());
    std::vector<int32_t> choice;
    for (int32_t i = 0; i < core.size(); ++i) choice.push_back(blend.takes(i) ? 1 : 0);
    EXPECT_EQ(cost, CostOf(core, choice)) << "seed " << seed;
    EXPECT_EQ(0, ExcessOf(core, UsageOf(core, choice))) << "seed " << seed;
    EXPECT_LE(cost, 0) << "seed " << seed;
    std::vector<int32_t> truth;
    best += BruteForceCore(core, truth) == cost ? 1 : 0;
    ++all;
  }
  EXPECT_GT(all, 150);
  EXPECT_GT(best, all / 2) << "of " << all;  // greedy: most small ones are exact
}

TEST(Neighbourhood, KeepsItsBooksAndFindsTheBest) {
  int found = 0, all = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Core core = SmallCore(random);
    std::vector<int32_t> truth;
    const double least = BruteForceCore(core, truth);
    if (least == kForbidden) continue;
    NeighbourhoodSearch search(core, seed);
    search.SetChoice(AnyChoice(core, random));
    double excess = search.excess(), cost = search.cost();
    for (int step = 0; step < 300; ++step) {
      EXPECT_GT(search.Step(), 0);
      EXPECT_EQ(CostOf(core, search.choice()), search.cost()) << "seed " << seed;
      EXPECT_EQ(ExcessOf(core, UsageOf(core, search.choice())), search.excess()) << "seed " << seed;
      EXPECT_TRUE(search.excess() < excess || (search.excess() == excess && search.cost() <= cost)) << "seed " << seed;
      excess = search.excess();
      cost = search.cost();
    }
    found += excess == 0 && cost <= CostOf(core, truth) ? 1 : 0;
    ++all;
  }
  EXPECT_GT(all, 50);
  EXPECT_GE(found, all * 8 / 10) << "of " << all;  // the others are at a local optimum
}

}  // namespace
}  // namespace sbp
