// Bounds over all candidates against brute force, cut short, and begun like another.
#include "strategy/optimal/layout_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "boxing/op_seconds.h"
#include "strategy/optimal/candidate_lists.h"
#include "support/every_plan.h"
#include "support/listed_problem.h"
#include "unit/strategy/priced.h"
#include "unit/strategy/random_graph.h"

namespace sbp {
namespace {

// The bound over all candidates, and per candidate, against every assignment. It is exact where no tensor has three
// readers and no two ways meet again, and near enough elsewhere.
void CompareBoundWithBruteForce(const char* mesh_text, int num_ops, int count, OutputPolicy policy) {
  std::mt19937 random(3);
  int near = 0;
  for (int i = 0; i < count; ++i) {
    ListedGraph graph = RandomGraph(random, num_ops);
    graph.policy = policy;
    for (const ListedOp& op : graph.ops) {
      if (random() % 2 == 0 || &op == &graph.ops.back()) graph.outputs.push_back(op.outputs[0]);
    }
    const ListedProblem made = MakeListedProblem(graph, *ParseMesh(mesh_text));
    double least = INFINITY;
    std::vector<std::vector<double>> forced;
    for (size_t o = 0; o < made.problem.num_ops(); ++o)
      forced.emplace_back(made.problem.candidates(OpId(o)).candidates.size(), INFINITY);
    ForEveryPrice(made, [&](const Priced& priced, const Assignment& assignment) {
      least = std::min(least, priced.seconds);
      for (size_t o = 0; o < forced.size(); ++o) {
        double& known = forced[o][assignment.ops[o].candidate];
        known = std::min(known, priced.seconds);
      }
    });
    const Result<CandidateLists> lists = CandidateLists::All(made.problem);
    ASSERT_TRUE(lists.ok());
    const double upper = 2 * least;
    LayoutBound bound(made.problem, *lists, upper);
    bound.Ascend(50'000'000);
    LayoutBound of_other_prices(made.problem, *lists, least * 3, {.sent = 0.3});
    of_other_prices.Ascend(50'000'000);
    LayoutBound again(made.problem, *lists, upper, {}, &of_other_prices);
    again.Ascend(50'000'000);
    near += std::min(bound.bound(), again.bound()) >= least * 0.95;
    for (const LayoutBound* const found : {&bound, &again}) {
      EXPECT_LE(found->bound(), least * (1 + 1e-9)) << mesh_text << " graph " << i;
      for (size_t o = 0; o < forced.size(); ++o) {
        const std::vector<double> excess = found->Excess(OpId(o));
        for (size_t c = 0; c < excess.size(); ++c) {
          const double bounded = std::isinf(excess[c]) ? upper : found->bound() + excess[c];
          EXPECT_LE(bounded, forced[o][lists->of(OpId(o))[c]] * (1 + 1e-9))
              << mesh_text << " graph " << i << " op " << o << " candidate " << c;
        }
      }
    }
  }
  EXPECT_GE(near, count * 2 / 5);
}

void CompareBoundWithBruteForce(const char* mesh_text, int num_ops, int count) {
  for (const OutputPolicy policy : {OutputPolicy::kAny, OutputPolicy::kSharded, OutputPolicy::kWhole})
    CompareBoundWithBruteForce(mesh_text, num_ops, count, policy);
}

TEST(LayoutBound, HoldsOnOneAxis) { CompareBoundWithBruteForce("4", 5, 40); }
TEST(LayoutBound, HoldsOnTwoAxes) { CompareBoundWithBruteForce("2,2", 3, 10); }
TEST(LayoutBound, HoldsOnThreeAxes) { CompareBoundWithBruteForce("2,2,2", 2, 3); }
TEST(LayoutBound, HoldsOnFourAxes) { CompareBoundWithBruteForce("2,2,2,2", 1, 3); }

// A gradient that nobody reads has to be reduced all the same, and one that is read is left as one of its readers has
// it.
TEST(LayoutBound, CountsHowOutputsEnd) {
  for (const OutputPolicy policy : {OutputPolicy::kSharded, OutputPolicy::kWhole}) {
    for (const bool is_read : {false, true}) {
      ListedGraph graph;
      graph.shapes = {{"x", {64, 64}}, {"y", {64, 64}}, {"z", {64, 64}}};
      graph.inputs = {"x"};
      graph.ops.push_back({"product", {"x"}, {"y"}, {"S(1) -> P(sum)"}});
      if (is_read) graph.ops.push_back({"next", {"y"}, {"z"}, {"S(0) -> S(0)", "B -> B"}});
      graph.outputs = {"y"};
      graph.policy = policy;
      const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
      double least = INFINITY;
      ForEveryPrice(made, [&](const Priced& priced, const Assignment&) { least = std::min(least, priced.seconds); });
      const Result<CandidateLists> lists = CandidateLists::All(made.problem);
      ASSERT_TRUE(lists.ok());
      LayoutBound bound(made.problem, *lists, least);
      bound.Ascend(1'000'000);
      EXPECT_NEAR(bound.bound(), least, 1e-5 * least) << OutputPolicyName(policy) << (is_read ? ", read" : "");
    }
  }
}

// Two products alike, whose sums weigh differently: both count.
TEST(LayoutBound, CountsAlikeOpsOfOtherWeights) {
  ListedGraph graph;
  for (const char* name : {"x0", "x1", "y0", "y1"}) graph.shapes[name] = {64, 64};
  graph.inputs = {"x0", "x1"};
  graph.ops = {{"first", {"x0"}, {"y0"}, {"S(1) -> P(sum)"}}, {"second", {"x1"}, {"y1"}, {"S(1) -> P(sum)"}}};
  graph.outputs = {"y0", "y1"};
  graph.policy = OutputPolicy::kWhole;
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  const Result<CandidateLists> lists = CandidateLists::All(made.problem);
  ASSERT_TRUE(lists.ok());
  const auto bound_of = [&](double weight) {
    PriceWeights weights;
    weights.sent_of.assign(made.graph->tensors.size(), 1);
    weights.sent_of[made.tensor("y1").index()] = weight;
    LayoutBound bound(made.problem, *lists, 1e-3, weights);
    bound.Ascend(1'000'000);
    return bound.bound();
  };
  const double alike = bound_of(1), once_more = bound_of(2) - alike;  // the sum of one product, sent
  EXPECT_GT(once_more, 0.3 * alike);
  EXPECT_NEAR(bound_of(0.5), alike - 0.5 * once_more, 1e-3 * alike);
  EXPECT_NEAR(bound_of(3), alike + 2 * once_more, 1e-3 * alike);
}

TEST(LayoutBound, HoldsWhenCutShort) {
  std::mt19937 random(3);
  const ListedProblem made = MakeListedProblem(RandomGraph(random, 5), *ParseMesh("4"));
  const Result<CandidateLists> lists = CandidateLists::All(made.problem);
  ASSERT_TRUE(lists.ok());
  double least = INFINITY;
  ForEveryPrice(made, [&](const Priced& priced, const Assignment&) { least = std::min(least, priced.seconds); });
  for (const int64_t work : {0, 1, 100, 10000}) {
    LayoutBound bound(made.problem, *lists, least);
    bound.Ascend(work);
    EXPECT_LE(bound.bound(), least * (1 + 1e-9)) << work;
  }
}

// So long that a sweep is cut; on a chain the bound is exact where none is.
TEST(LayoutBound, HoldsWhenCutShortOnAChain) {
  std::mt19937 random(3);
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = {64, 64};
  for (int o = 0; o < 200; ++o) {
    const std::string last = StrCat("t", o), next = StrCat("t", o + 1);
    graph.shapes[next] = {64, 64};
    graph.ops.push_back({StrCat("op", o), {last}, {next}, {"S(0) -> S(0)", "S(1) -> P(sum)"}});
    if (random() % 3 == 0) graph.ops.back().signatures = {"S(1) -> S(1)", "B -> B"};
  }
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  const Result<CandidateLists> lists = CandidateLists::All(made.problem);
  ASSERT_TRUE(lists.ok());
  LayoutBound exact(made.problem, *lists, 1e-3);
  exact.Ascend(int64_t{1} << 40);
  ASSERT_GT(exact.bound(), 0);
  LayoutBound dearer(made.problem, *lists, 1e-3, {.sent = 5}), cheaper(made.problem, *lists, 1e-3, {.sent = 0.2});
  const LayoutBound* const begins[] = {nullptr, &dearer, &cheaper};
  dearer.Ascend(int64_t{1} << 40);
  cheaper.Ascend(int64_t{1} << 40);
  for (const LayoutBound* const like : begins) {
    for (int64_t work = 0; work < int64_t{1} << 14; work += 1 + work / 4) {
      LayoutBound bound(made.problem, *lists, 1e-3, {}, like);
      bound.Ascend(work);
      EXPECT_LE(bound.bound(), exact.bound() * (1 + 1e-6)) << work;
    }
  }
}

// Of other weights some tensors may have no factor, so that links lie elsewhere: as in another problem.
TEST(LayoutBound, BeginsLikeOneOfOtherLinks) {
  std::mt19937 random(3);
  const ListedProblem made = MakeListedProblem(RandomGraph(random, 5), *ParseMesh("4"));
  const ListedProblem other = MakeListedProblem(RandomGraph(random, 7), *ParseMesh("2,2"));
  const Result<CandidateLists> lists = CandidateLists::All(made.problem), others = CandidateLists::All(other.problem);
  ASSERT_TRUE(lists.ok() && others.ok());
  double least = INFINITY;
  ForEveryPrice(made, [&](const Priced& priced, const Assignment&) { least = std::min(least, priced.seconds); });
  LayoutBound like(other.problem, *others, least), afresh(made.problem, *lists, least);
  like.Ascend(10'000'000);
  afresh.Ascend(10'000'000);
  LayoutBound bound(made.problem, *lists, least, {}, &like);
  bound.Ascend(10'000'000);
  EXPECT_LE(bound.bound(), least * (1 + 1e-9));
  EXPECT_GE(bound.bound(), afresh.bound() * 0.9);
}

// Lists that were cut say nothing of layouts, but the op still has its work: no candidate, cut off or not, takes less
// than an even share.
TEST(LayoutBound, CountsTheWorkOfCutLists) {
  std::mt19937 random(5);
  for (int i = 0; i < 10; ++i) {
    ListedProblem made = MakeListedProblem(RandomGraph(random, 5), *ParseMesh("4"));
    double work = 0;
    for (size_t o = 0; o < made.problem.num_ops(); ++o) {
      const CandidateList& list = made.problem.candidates(OpId(o));
      const double least = LeastOpSeconds(*list.instance, made.problem.mesh, made.problem.boxing->cluster());
      for (size_t c = 0; c < list.candidates.size(); ++c)
        EXPECT_LE(least, made.problem.ComputeSeconds(OpId(o), c) * (1 + 1e-9)) << "graph " << i << " op " << o;
      work += least;
    }
    EXPECT_GT(work, 0);
    for (OpClass& op_class : made.problem.classes) {
      auto cut = std::make_shared<CandidateList>(*op_class.list);
      cut->truncated = true;
      op_class.list = std::move(cut);
    }
    const Result<CandidateLists> lists = CandidateLists::All(made.problem);
    ASSERT_TRUE(lists.ok());
    for (const int64_t steps : {0, 1'000'000}) {
      LayoutBound bound(made.problem, *lists, 10 * work);
      bound.Ascend(steps);
      EXPECT_NEAR(bound.bound() / work, 1, 1e-6) << "graph " << i;
    }
  }
}

}  // namespace
}  // namespace sbp
