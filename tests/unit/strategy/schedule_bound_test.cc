// Bounds of schedules and the search for a short one, against brute force: the schedules of all assignments.
#include "strategy/optimal/schedule_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "schedule/schedule.h"
#include "strategy/all_strategies.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/bottlenecks.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/schedule_forms.h"
#include "strategy/optimal/turn.h"
#include "support/every_plan.h"
#include "support/listed_problem.h"

namespace sbp {
namespace {

constexpr double kRounding = 1e-9;

// Ops one behind the other, some with a parameter, now and then one beside that joins later: collectives that nothing
// runs beside, and such that something does. Op i is `opI`, tensor i what it writes, t0 the input.
ListedGraph RandomChain(std::mt19937& random, int num_ops) {
  const std::vector<std::string> unary = {"S(0) -> S(0)", "B -> B", "S(1) -> P(sum)", "S(1) -> S(1)"};
  const std::vector<std::string> binary = {"S(0) B -> S(0)", "B S(1) -> S(1)", "S(1) S(0) -> P(sum)", "B B -> B",
                                           "S(0) S(0) -> S(0)"};
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = {64, 64};
  for (int o = 0; o < num_ops; ++o) {
    const std::string out = StrCat("t", o + 1);
    graph.shapes[out] = {64, 64};
    const std::string last = StrCat("t", random() % 4 == 0 ? random() % (o + 1) : o);
    if (random() % 2 == 0) {
      graph.ops.push_back({StrCat("op", o), {last}, {out}, SomeOf(unary, random)});
    } else {
      std::string with = StrCat("t", random() % (o + 1));
      if (random() % 2 == 0) {
        with = StrCat("w", o);
        graph.parameters.push_back(with);
        graph.shapes[with] = {64, 64};
      }
      graph.ops.push_back({StrCat("op", o), {last, with}, {out}, SomeOf(binary, random)});
    }
  }
  if (random() % 2 == 0) {
    graph.outputs = {StrCat("t", num_ops)};
    graph.policy = random() % 2 == 0 ? OutputPolicy::kWhole : OutputPolicy::kSharded;
  }
  return graph;
}

// On one axis, with compute and collectives of like size and the given overlap.
ListedProblem MakeOverlapping(const ListedGraph& graph, double overlap, double launch = 2e-5) {
  ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  Cluster cluster = made.problem.boxing->cluster();
  cluster.device.overlap.value = overlap;
  cluster.device.launch_seconds.value = launch;
  made.problem.boxing = std::make_shared<BoxingTable>(made.problem.mesh, cluster);
  return made;
}

Plan PlanOf(const ListedProblem& made, const Assignment& assignment) {
  return EvaluatedPlan(made.problem, assignment, {.ahead = true});
}

template <typename See>
void ForEveryPlan(const ListedProblem& made, See see) {
  ForEveryAssignment(made.problem, SourcesOf(*made.graph),
                     [&](const Assignment& assignment) { see(PlanOf(made, assignment), assignment); });
}

std::vector<PriceWeights> WeightsOfForms(const Landmarks& landmarks, double overlap) {
  std::vector<PriceWeights> weights;
  for (const double before : {1.0, 0.5, 0.1}) {
    for (const double behind : {1.0, 0.5, 0.1}) {
      for (const bool waits : {false, true}) weights.push_back(WeightsOf(landmarks, overlap, {waits, before, behind}));
    }
  }
  return weights;
}

// As a plan says, and, so that every place is looked at, with a turn anywhere.
std::vector<PriceWeights> WeightsOfForms(const ListedProblem& made, const Plan& plan, double overlap,
                                         std::mt19937& random) {
  Landmarks landmarks = LandmarksFor(made.problem, plan);
  std::vector<PriceWeights> weights = WeightsOfForms(landmarks, overlap);
  landmarks.turn = TurnAt(made.problem, OpId(random() % made.problem.num_ops()));
  for (PriceWeights& more : WeightsOfForms(landmarks, overlap)) weights.push_back(std::move(more));
  return weights;
}

constexpr double kOverlapsOfBounds[] = {1, 0.9, 0.5, 0};

// No sum of weighted prices is above the schedule of the same plan, whose bottlenecks another plan has found.
TEST(ScheduleBounds, FormsHoldForEachPlan) {
  std::mt19937 random(3);
  int waiting = 0, tight = 0, all = 0;
  for (int i = 0; i < 400; ++i) {
    const double overlap = kOverlapsOfBounds[i % 4];
    const ListedProblem made = MakeOverlapping(RandomChain(random, 8), overlap, 5e-6);
    const auto draw = [&] {
      Assignment assignment = FirstAssignment(made.problem);
      for (size_t o = 0; o < made.problem.num_ops(); ++o)
        assignment.ops[o].candidate =
            static_cast<uint32_t>(random() % made.problem.candidates(OpId(o)).candidates.size());
      return PlanOf(made, assignment);
    };
    const std::vector<PriceWeights> forms = WeightsOfForms(made, draw(), overlap, random);
    const Plan plan = draw();
    const double step = MakeSchedule(plan).summary.step;
    double most = 0;
    for (size_t f = 0; f < forms.size(); ++f) {
      const double bound = WeightedTotal(plan, forms[f]);
      EXPECT_LE(bound, step * (1 + kRounding)) << "graph " << i << ", form " << f;
      most = std::max(most, bound);
    }
    const double without = WeightedTotal(plan, forms[0]);
    waiting += most > without * (1 + kRounding);
    tight += most > step * 0.98;
    ++all;
  }
  EXPECT_GT(waiting, all / 4);  // what waits for collectives says more than that they are slow
  EXPECT_GT(tight, all / 5);
}

// The bound and the schedule found against those of all plans, with and without a memory limit.
void CompareSchedules(int num_ops, int count, bool limited) {
  std::mt19937 random(11);
  int reached = 0, proved = 0, shorter = 0, improvable = 0, all = 0;
  for (int i = 0; i < count; ++i) {
    const double overlap = kOverlapsOfBounds[i % 3];
    const ListedProblem made = MakeOverlapping(RandomChain(random, num_ops), overlap);
    struct Point {
      double step;
      int64_t peak;
    };
    std::vector<Point> plans;
    ForEveryPlan(made, [&](const Plan& plan, const Assignment&) {
      plans.push_back({MakeSchedule(plan).summary.step, plan.memory.peak_bytes});
    });
    StrategyOptions options;
    options.values["gap"] = 0.0;
    if (limited) {
      std::vector<int64_t> peaks;
      for (const Point& point : plans) peaks.push_back(point.peak);
      std::ranges::nth_element(peaks, peaks.begin() + static_cast<int64_t>(peaks.size() / 4));
      options.memory_limit = peaks[peaks.size() / 4];
    }
    double least = INFINITY;
    for (const Point& point : plans) {
      if (!options.memory_limit || point.peak <= *options.memory_limit) least = std::min(least, point.step);
    }
    const Result<Assignment> found = OptimalStrategy().solve(made.problem, options);
    options.values["objective"] = std::string("sum");
    const Result<Assignment> summed = OptimalStrategy().solve(made.problem, options);
    if (!found.ok() || !summed.ok()) continue;
    const auto step = [&](const Assignment& assignment) {
      Plan plan;
      plan.graph = *made.graph;
      plan.mesh = made.problem.mesh;
      plan.cluster = made.problem.boxing->cluster();
      plan.options.memory_limit = options.memory_limit;
      EXPECT_TRUE(Evaluate(made.problem, assignment, plan, {.ahead = true}).ok());
      return MakeSchedule(plan).summary.step;
    };
    ASSERT_TRUE(found->schedule_bound_seconds.has_value());
    EXPECT_FALSE(summed->schedule_bound_seconds.has_value());
    EXPECT_LE(*found->schedule_bound_seconds, least * (1 + kRounding)) << "graph " << i;
    EXPECT_LE(step(*found), step(*summed) * (1 + kRounding)) << "graph " << i;
    reached += step(*found) <= least * (1 + 1e-3);
    shorter += step(*found) < step(*summed) * (1 - 1e-3);
    improvable += least < step(*summed) * (1 - 1e-3);
    proved += *found->schedule_bound_seconds >= least * 0.98;
    ++all;
  }
  EXPECT_GT(all, count * 2 / 3);
  EXPECT_GT(reached, all * (limited ? 1 : 2) / 3);
  EXPECT_GT(proved, all / 4);
  if (!limited) {
    EXPECT_GT(improvable, 0);
    EXPECT_GE(shorter, improvable * 2 / 5);
  }
}

TEST(ScheduleBounds, HoldForAllPlans) { CompareSchedules(4, 60, false); }
TEST(ScheduleBounds, HoldForAllPlansWithinALimit) { CompareSchedules(4, 30, true); }

// The least sum sends nothing. A reduction that eight ops beside it hide makes a step shorter: by a tenth, which is
// taken; or by less than prices err, which is not worth what may come late.
TEST(ScheduleBounds, CollectivesComeWhereTheyShortenMuch) {
  for (const int beside : {8, 24}) {
    ListedGraph graph;
    graph.inputs = {"a", "b", "c", "t0"};
    graph.ops.push_back({"reduced", {"a", "b", "c"}, {"r"}, {"B B B -> B", "S(1) S(1) S(1) -> P(sum)"}});
    for (int o = 0; o < beside; ++o)
      graph.ops.push_back({StrCat("op", o), {StrCat("t", o)}, {StrCat("t", o + 1)}, {"B -> B"}});
    graph.ops.push_back({"both", {"r", StrCat("t", beside)}, {"y"}, {"B B -> B"}});
    graph.outputs = {"y"};
    for (const char* name : {"a", "b", "c", "r", "y"}) graph.shapes[name] = {4096, 4096};
    for (int o = 0; o <= beside; ++o) graph.shapes[StrCat("t", o)] = {4096, 4096};
    const ListedProblem made = MakeOverlapping(graph, 1, 0);
    StrategyOptions options;
    const Result<Assignment> found = OptimalStrategy().solve(made.problem, options);
    options.values["objective"] = std::string("sum");
    const Result<Assignment> summed = OptimalStrategy().solve(made.problem, options);
    ASSERT_TRUE(found.ok() && summed.ok());
    const ScheduleSummary step = MakeSchedule(PlanOf(made, *found)).summary;
    const ScheduleSummary least_sum = MakeSchedule(PlanOf(made, *summed)).summary;
    EXPECT_EQ(least_sum.collectives, 0);
    if (beside == 8) {
      EXPECT_GT(step.collectives, 0);
      EXPECT_LT(step.step, 0.95 * least_sum.step);
    } else {
      EXPECT_EQ(step.collectives, 0);
      EXPECT_LT(*found->schedule_bound_seconds, least_sum.step);
    }
  }
}

// Weighted prices of the networks and of the bound without one, against the weighted sum over what a plan does.
TEST(ScheduleBounds, WeightedNetworksPriceAsPlansDo) {
  std::mt19937 random(17);
  for (int i = 0; i < 60; ++i) {
    const double overlap = kOverlapsOfBounds[i % 4];
    const ListedProblem made = MakeOverlapping(RandomChain(random, 4), overlap);
    const std::vector<PriceWeights> forms =
        WeightsOfForms(made, PlanOf(made, FirstAssignment(made.problem)), overlap, random);
    const PriceWeights& weights = forms[random() % forms.size()];
    const Result<LayoutNetwork> relaxed = LayoutNetwork::Build(made.problem, {.relaxed = true, .weights = &weights});
    const Result<CandidateLists> lists = CandidateLists::All(made.problem);
    ASSERT_TRUE(relaxed.ok() && lists.ok());
    double least = INFINITY;
    ForEveryPlan(made, [&](const Plan& plan, const Assignment& assignment) {
      const double total = WeightedTotal(plan, weights);
      least = std::min(least, total);
      const Result<std::vector<int32_t>> choice = relaxed->Write(assignment);
      ASSERT_TRUE(choice.ok()) << choice.status().message();
      EXPECT_LE(Evaluate(relaxed->network(), *choice).value, total * (1 + kRounding) + 1e-15) << "graph " << i;
    });
    LayoutBound bound(made.problem, *lists, 2 * least + 1e-9, weights);
    bound.Ascend(10'000'000);
    EXPECT_LE(bound.bound(), least * (1 + kRounding) + 1e-15) << "graph " << i;
  }
}

// x - a - b - c - add - d, where add also reads a: nothing runs beside what is sent from c to add, or from add to d; b
// and c run beside what is sent from a.
TEST(Bottlenecks, AreWhereEverythingPasses) {
  ListedGraph graph;
  graph.inputs = {"x"};
  graph.parameters = {"w"};
  for (const char* name : {"x", "a", "b", "c", "s", "d", "w"}) graph.shapes[name] = {64, 64};
  graph.ops = {{"a", {"x"}, {"a"}, {"B -> B"}},
               {"b", {"a"}, {"b"}, {"B -> B"}},
               {"c", {"b", "w"}, {"c"}, {"B B -> B"}},
               {"add", {"c", "a"}, {"s"}, {"B B -> B"}},
               {"d", {"s"}, {"d"}, {"B -> B"}}};
  graph.outputs = {"d"};
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  const Bottlenecks found = FindBottlenecks(made.problem, std::vector<double>(5, 1.0), {});
  std::vector<std::string> names;
  for (size_t t = 0; t < found.tensors.size(); ++t) {
    if (found.tensors[t]) names.push_back(made.graph->tensors[t].name);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("b", "c", "s"));
  EXPECT_THAT(found.aside, ::testing::Each(false));
}

// A small op far ahead of its reader does not hide what passes between the two.
TEST(Bottlenecks, SetSmallOpsAside) {
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = graph.shapes["table"] = {64, 64};
  std::vector<double> seconds;
  graph.ops.push_back({"table", {"t0"}, {"table"}, {"B -> B"}});
  seconds.push_back(1e-6);
  constexpr int kOps = 60;
  for (int o = 0; o < kOps; ++o) {
    const std::string out = StrCat("t", o + 1);
    graph.shapes[out] = {64, 64};
    if (o + 1 < kOps) {
      graph.ops.push_back({StrCat("op", o), {StrCat("t", o)}, {out}, {"B -> B"}});
    } else {
      graph.ops.push_back({StrCat("op", o), {StrCat("t", o), "table"}, {out}, {"B B -> B"}});
    }
    seconds.push_back(1);
  }
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  const Bottlenecks found = FindBottlenecks(made.problem, seconds, {});
  EXPECT_TRUE(found.aside[0]);
  EXPECT_EQ(std::ranges::count(found.aside, true), 1);
  EXPECT_EQ(std::ranges::count(found.tensors, true), kOps - 1);
  seconds[0] = 1;  // too much to be left out
  const Bottlenecks none = FindBottlenecks(made.problem, seconds, {});
  EXPECT_EQ(std::ranges::count(none.aside, true), 0);
  EXPECT_EQ(std::ranges::count(none.tensors, true), 0);
}

}  // namespace
}  // namespace sbp
