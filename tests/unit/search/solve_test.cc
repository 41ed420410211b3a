// The search against trying everything, on thousands of generated problems.
#include "search/solve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/search/small_networks.h"

namespace sbp {
namespace {

SolveOptions Effort(double effort, uint64_t seed) {
  SolveOptions options;
  options.effort = effort;
  options.threads = 1;
  options.seed = seed;
  return options;
}

// How a problem was answered; the bound must never exceed the optimum.
struct Score {
  int feasible = 0;
  int optimal = 0;
  int infeasible = 0;
  int missed = 0;  // feasible, and nothing feasible found
};

void Compare(uint64_t seed, const SmallNetworkOptions& kind, Score& score) {
  const CostNetwork network = SmallNetwork(seed, kind);
  const std::optional<int64_t> optimum = BruteForce(network);
  const SolveResult result = Solve(network, Effort(0.1, seed));
  if (!optimum) {
    ++score.infeasible;
    EXPECT_FALSE(result.evaluation.feasible) << "seed " << seed;
    EXPECT_TRUE(result.proved_infeasible) << "seed " << seed;
    return;
  }
  ++score.feasible;
  EXPECT_FALSE(result.proved_infeasible) << "seed " << seed << ": " << result.why_infeasible;
  EXPECT_LE(result.lower_bound_units, *optimum) << "seed " << seed;
  if (!result.evaluation.feasible) {
    ++score.missed;
    ADD_FAILURE() << "seed " << seed << ": nothing feasible was found; the optimum is " << *optimum;
    return;
  }
  EXPECT_GE(result.evaluation.cost, *optimum);
  EXPECT_EQ(result.evaluation.cost, Evaluate(network, result.choice).cost);
  EXPECT_EQ(result.evaluation.cost, *optimum) << "seed " << seed;
  EXPECT_EQ(result.gap, 0) << "seed " << seed;  // problems this small are proved
  if (result.evaluation.cost == *optimum) ++score.optimal;
}

TEST(Solve, EqualsBruteForceWithoutMemory) {
  SmallNetworkOptions kind;
  kind.memory = false;
  Score score;
  for (uint64_t seed = 0; seed < 2000; ++seed) Compare(seed, kind, score);
  EXPECT_GT(score.feasible, 1200);
  EXPECT_EQ(score.optimal, score.feasible);
}

TEST(Solve, EqualsBruteForceUnderMemoryLimits) {
  Score score;
  for (uint64_t seed = 0; seed < 2000; ++seed) Compare(seed, {}, score);
  EXPECT_GT(score.feasible, 700);
  EXPECT_GT(score.infeasible, 50);
}

// What costs too much is not looked for, what costs less is found as ever; no bound exceeds the optimum.
TEST(Solve, ACutoffEndsOnlyWhatCannotBeBetter) {
  int ended = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const CostNetwork network = SmallNetwork(seed, {});
    const std::optional<int64_t> optimum = BruteForce(network);
    if (!optimum) continue;
    SolveOptions options = Effort(0.1, seed);
    options.cutoff = static_cast<double>(*optimum) + 1;
    EXPECT_EQ(Solve(network, options).evaluation.cost, *optimum) << "seed " << seed;
    options.cutoff = static_cast<double>(*optimum) / 2;
    const SolveResult result = Solve(network, options);
    EXPECT_FALSE(result.proved_infeasible) << "seed " << seed;
    EXPECT_LE(result.lower_bound_units, *optimum) << "seed " << seed;
    ended += result.lower_bound >= options.cutoff;
  }
  EXPECT_GT(ended, 100);
}

TEST(Solve, ImpatienceClaimsNothing) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const CostNetwork network = SmallNetwork(seed, {});
    const std::optional<int64_t> optimum = BruteForce(network);
    SolveOptions options = Effort(0.1, seed);
    options.patience = 1;
    const SolveResult result = Solve(network, options);
    EXPECT_FALSE(result.proved_infeasible && optimum) << "seed " << seed;
    if (!optimum) continue;
    EXPECT_LE(result.lower_bound_units, *optimum) << "seed " << seed;
    EXPECT_TRUE(!result.evaluation.feasible || result.evaluation.cost >= *optimum) << "seed " << seed;
  }
}

TEST(Solve, EqualsBruteForceWhereTablesAreSmallerThanNodes) {
  for (const bool memory : {false, true}) {
    SmallNetworkOptions kind;
    kind.most_nodes = 4;
    kind.most_candidates = 16;
    kind.edges_per_node = 2;
    kind.forms = 0.8;
    kind.memory = memory;
    Score score;
    for (uint64_t seed = 0; seed < 60; ++seed) Compare(seed, kind, score);
    EXPECT_GT(score.feasible, 25);
  }
}

TEST(Solve, EqualsBruteForceOnTightProblems) {
  SmallNetworkOptions kind;
  kind.tightness = 0.35;
  kind.forbidden = 0;
  kind.edges_per_node = 2.5;
  Score score;
  for (uint64_t seed = 0; seed < 1500; ++seed) Compare(seed, kind, score);
  EXPECT_GT(score.feasible, 300);
  EXPECT_GT(score.infeasible, 50);
}

TEST(Solve, FractionsAreSolvedInTheirOwnNumbers) {
  SmallNetworkOptions kind;
  kind.fractions = true;
  Score score;
  for (uint64_t seed = 0; seed < 500; ++seed) Compare(seed, kind, score);
  EXPECT_GT(score.feasible, 100);
}

TEST(Solve, SameSeedAndEffortGiveTheSameChoiceOnAnyNumberOfThreads) {
  SmallNetworkOptions kind;
  kind.most_nodes = 60;
  kind.most_candidates = 8;
  kind.forbidden = 0;
  kind.tightness = 0.3;
  int feasible = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const CostNetwork network = SmallNetwork(seed, kind);
    SolveOptions options = Effort(0.1, seed);
    const SolveResult one = Solve(network, options);
    for (const int threads : {2, 3}) {
      options.threads = threads;
      const SolveResult other = Solve(network, options);
      EXPECT_EQ(one.choice, other.choice);
      EXPECT_EQ(one.lower_bound_units, other.lower_bound_units);
    }
    feasible += one.evaluation.feasible;
  }
  EXPECT_GT(feasible, 2);
}

TEST(Solve, ForcedCandidatesCostNoLessThanStated) {
  int exact = 0;
  int exact_of_node = 0;
  int all = 0;
  for (const bool memory : {false, true}) {
    SmallNetworkOptions kind;
    kind.memory = memory;
    kind.most_nodes = 5;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const CostNetwork network = SmallNetwork(seed, kind);
      SolveOptions options = Effort(0.1, seed);
      options.forced = true;
      const SolveResult result = Solve(network, options);
      if (result.proved_infeasible) continue;
      ASSERT_EQ(result.forced.size(), network.nodes.size());
      for (int32_t node = 0; node < static_cast<int32_t>(network.nodes.size()); ++node) {
        ASSERT_EQ(static_cast<int>(result.forced[node].size()), network.candidates(node));
        options.forced_node = node;
        const std::vector<double> of_node = Solve(network, options).forced[node];
        ASSERT_EQ(of_node.size(), result.forced[node].size());
        for (int32_t a = 0; a < network.candidates(node); ++a) {
          const std::optional<int64_t> optimum = BruteForce(network, node, a);
          ++all;
          if (!optimum) continue;
          EXPECT_LE(result.forced[node][a], static_cast<double>(*optimum)) << "seed " << seed << " node " << node;
          EXPECT_LE(of_node[a], static_cast<double>(*optimum)) << "seed " << seed << " node " << node;
          exact += result.forced[node][a] == static_cast<double>(*optimum);
          exact_of_node += of_node[a] == static_cast<double>(*optimum);
        }
      }
    }
  }
  EXPECT_GE(exact_of_node, exact);  // no candidate gave way to another
  EXPECT_GT(exact, all / 3);
}

TEST(Solve, BeginsWithAGivenChoice) {
  SmallNetworkOptions kind;
  kind.most_nodes = 60;
  kind.most_candidates = 8;
  kind.tightness = 0.5;
  int compared = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const CostNetwork network = SmallNetwork(seed, kind);
    const SolveResult first = Solve(network, Effort(0.1, seed));
    if (!first.evaluation.feasible) continue;
    SolveOptions none = Effort(0, seed);
    none.start = first.choice;
    const SolveResult again = Solve(network, none);
    EXPECT_TRUE(again.evaluation.feasible);
    EXPECT_LE(again.evaluation.cost, first.evaluation.cost);
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

TEST(Solve, EmptyProblem) {
  const SolveResult result = Solve(CostNetworkBuilder().Build().value(), Effort(1, 0));
  EXPECT_TRUE(result.evaluation.feasible);
  EXPECT_EQ(result.evaluation.cost, 0);
  EXPECT_EQ(result.lower_bound_units, 0);
}

}  // namespace
}  // namespace sbp
