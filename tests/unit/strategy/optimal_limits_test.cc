// optimal under memory limits where smaller copies take the place of tensors (memory/shrink.h), against brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "search/solve.h"
#include "strategy/all_strategies.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/layout_network.h"
#include "support/listed_problem.h"
#include "unit/strategy/priced.h"

namespace sbp {
namespace {

// The first op's result waits for one to three late readers, while others run: a smaller copy may take its place early.
ListedGraph WaitingGraph(std::mt19937& random, int num_late) {
  const std::vector<std::string> whole = {"B -> B"}, writes = {"S(0) -> S(0)", "B -> B", "S(1) -> P(sum)"};
  const std::vector<std::string> passes = {"B -> B"};
  const std::vector<std::string> reads = {"S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "B B -> B", "P(sum) B -> P(sum)"};
  constexpr int kBetween = 4;
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.ops.push_back({"op0", {"t0"}, {"t1"}, random() % 2 == 0 ? whole : SomeOf(writes, random)});
  for (int o = 1; o <= kBetween + num_late; ++o) {
    const std::string last = o == 1 ? "t0" : StrCat("t", o), out = StrCat("t", o + 1);
    if (o <= kBetween) {
      graph.ops.push_back({StrCat("op", o), {last}, {out}, passes});
    } else {
      graph.ops.push_back({StrCat("op", o), {last, "t1"}, {out}, SomeOf(reads, random)});
    }
  }
  for (int t = 0; t <= kBetween + num_late + 1; ++t) graph.shapes[StrCat("t", t)] = {64, 64};
  return graph;
}

TEST(OptimalWithinALimit, BoundsHoldWhereCopiesTakeThePlaceOfTensors) {
  std::mt19937 random(5);
  int fit_early = 0, reached = 0, all = 0;
  for (int i = 0; i < 160; ++i) {
    const ListedProblem made =
        MakeListedProblem(WaitingGraph(random, i % 8 == 0 ? 2 + i % 16 / 8 : 1), *ParseMesh("4"));
    std::vector<Priced> whole;
    std::vector<Assignment> plans;
    ForEveryPrice(made, [&](const Priced& priced, const Assignment& assignment) {
      whole.push_back(priced);
      plans.push_back(assignment);
    });
    const auto [low, high] = std::ranges::minmax(whole, {}, &Priced::peak);
    StrategyOptions options;
    options.values["objective"] = std::string("sum");
    options.values["gap"] = 0.0;
    options.memory_limit = low.peak - 1 + static_cast<int64_t>(random() % 12) * (high.peak - low.peak) / 32;
    double least = INFINITY;
    for (size_t p = 0; p < plans.size(); ++p) {
      const double seconds = SecondsWithin(made, plans[p], *options.memory_limit);
      fit_early += whole[p].peak > *options.memory_limit && !std::isinf(seconds);
      least = std::min(least, seconds);
    }
    const Result<Assignment> found = OptimalStrategy().solve(made.problem, options);
    if (!found.ok()) {
      const bool proved = found.status().message().starts_with("no plan fits");
      EXPECT_TRUE(!proved || std::isinf(least)) << "graph " << i << ": " << found.status().message();
      continue;
    }
    EXPECT_LE(found->lower_bound_seconds, least * (1 + 1e-9)) << "graph " << i;
    const double seconds = SecondsWithin(made, *found, *options.memory_limit);
    EXPECT_FALSE(std::isinf(seconds)) << "graph " << i;
    EXPECT_GE(seconds, least * (1 - 1e-9)) << "graph " << i;
    reached += seconds <= least * (1 + 1e-9);
    ++all;
  }
  EXPECT_GT(fit_early, 100);
  EXPECT_GT(all, 60);
  EXPECT_GE(reached, all * 9 / 10);
}

// A tensor with one to three uses, some at once, some late, by ops that read it twice too, whose results may be larger.
ListedGraph ReadersGraph(std::mt19937& random) {
  const std::vector<std::string> writes = {"B -> B", "S(0) -> S(0)"};
  const std::vector<std::string> reads = {"S(0) -> S(0)", "S(1) -> S(1)", "B -> B"};
  const std::vector<std::string> twice = {"S(0) S(1) -> S(0)", "S(1) S(1) -> S(1)", "B S(0) -> S(0)"};
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = {64, 64};
  const auto add = [&](std::vector<std::string> operands, std::vector<std::string> signatures, int64_t columns) {
    const size_t o = graph.ops.size();
    graph.shapes[StrCat("t", o + 1)] = {64, columns};
    graph.ops.push_back({StrCat("op", o), std::move(operands), {StrCat("t", o + 1)}, std::move(signatures)});
  };
  add({"t0"}, {writes[random() % 2]}, 256);
  for (unsigned uses = 1 + random() % 3; uses > 0; --uses) {
    for (unsigned between = random() % 6; between > 0; --between) add({"t0"}, {"B -> B"}, 16);
    const int64_t columns = random() % 2 == 0 ? 64 : 1024;
    if (random() % 4 == 0) {
      add({"t1", "t1"}, SomeOf(twice, random), columns);
    } else {
      add({"t1"}, SomeOf(reads, random), columns);
    }
  }
  return graph;
}

// Per graph: at limits that plans just keep, no relaxed network says more than the best of those.
TEST(OptimalWithinALimit, RelaxedNetworksStayBelowAllPlans) {
  std::mt19937 random(3);
  int limits = 0, tight = 0;
  for (int i = 0; i < 150; ++i) {
    const ListedProblem made = MakeListedProblem(ReadersGraph(random), *ParseMesh("4"));
    std::vector<Priced> whole;
    std::vector<Assignment> plans;
    ForEveryPrice(made, [&](const Priced& priced, const Assignment& assignment) {
      whole.push_back(priced);
      plans.push_back(assignment);
    });
    // Just what a plan holds: as it is, and as it is where it is to be less.
    std::set<int64_t> tried;
    for (int drawn = 0; drawn < 4; ++drawn) {
      const size_t one = random() % plans.size();
      Plan plan;
      plan.graph = *made.graph;
      plan.mesh = made.problem.mesh;
      plan.cluster = made.problem.boxing->cluster();
      const int64_t room = whole[one].peak - static_cast<int64_t>(drawn % 2);
      ASSERT_TRUE(Evaluate(made.problem, plans[one], plan, {.room = room}).ok());
      const int64_t limit = plan.memory.peak_bytes;
      if (!tried.insert(limit).second) continue;
      double least = INFINITY;
      for (size_t p = 0; p < plans.size(); ++p) {
        const bool fits = whole[p].peak <= limit;
        least = std::min(least, fits ? whole[p].seconds : SecondsWithin(made, plans[p], limit));
      }
      const Result<LayoutNetwork> relaxed =
          LayoutNetwork::Build(made.problem, {.memory_limit = limit, .relaxed = true});
      ASSERT_TRUE(relaxed.ok());
      SolveOptions options;
      options.gap = 0;
      options.settled = true;
      const SolveResult solved = Solve(relaxed->network(), options);
      EXPECT_FALSE(solved.proved_infeasible) << "graph " << i << ", limit " << limit;
      EXPECT_LE(solved.lower_bound, least * (1 + 1e-9)) << "graph " << i << ", limit " << limit;
      tight += solved.lower_bound >= least * 0.98;
      ++limits;
    }
  }
  EXPECT_GT(limits, 200);
  EXPECT_GT(tight, limits / 2);
}

}  // namespace
}  // namespace sbp
