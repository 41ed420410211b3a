// Bounds of schedules and the search for a short one, against brute force: the schedules of all assignments.
#include "strategy/optimal/schedule_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "schedule/schedule.h"
#include "strategy/all_strategies.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/aside.h"
#include "strategy/optimal/beside.h"
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

// Layers forward and back, as a training step has them: of each what is written is read by the next one and, far
// behind, by the gradient of its weight, which nothing else waits for. Now and then two ops read it, whose results
// join.
ListedGraph RandomStep(std::mt19937& random, int layers) {
  const std::vector<std::string> product = {"S(0) B -> S(0)", "B S(1) -> S(1)", "S(1) S(0) -> P(sum)", "B B -> B"};
  const std::vector<std::string> of_weight = {"S(0) S(0) -> P(sum)", "S(1) B -> S(0)", "B S(1) -> S(1)", "B B -> B"};
  const std::vector<std::string> join = {"S(0) S(0) -> S(0)", "B B -> B", "S(1) S(1) -> S(1)"};
  ListedGraph graph;
  const auto add = [&](const std::string& name, const std::vector<std::string>& reads,
                       const std::vector<std::string>& ways) {
    graph.shapes[name] = {64, 64};
    std::vector<std::string> some = SomeOf(ways, random);
    if (some.size() > 2) some.resize(2);  // as every plan is looked at
    graph.ops.push_back({StrCat("op_", name), reads, {name}, some});
  };
  graph.inputs = {"x0"};
  graph.shapes["x0"] = {64, 64};
  for (int l = 0; l < layers; ++l) {
    const std::string w = StrCat("w", l), x = StrCat("x", l), y = StrCat("x", l + 1);
    graph.parameters.push_back(w);
    graph.shapes[w] = {64, 64};
    if (random() % 2 == 0) {
      add(StrCat("side", l), {x}, {"S(0) -> S(0)", "B -> B", "S(1) -> P(sum)"});
      add(StrCat("main", l), {x, w}, product);
      add(y, {StrCat("main", l), StrCat("side", l)}, join);
    } else {
      add(y, {x, w}, product);
    }
  }
  std::string gradient = StrCat("x", layers);
  for (int l = layers; l-- > 0;) {
    const std::string w = StrCat("w", l);
    const auto of_weights = [&] {
      add(StrCat("d", w), {StrCat("x", l), gradient}, of_weight);
      graph.outputs.push_back(StrCat("d", w));
    };
    const bool first = random() % 2 == 0;
    if (first) of_weights();
    const std::string next = StrCat("dx", l);
    if (l > 0) add(next, {gradient, w}, product);
    if (!first) of_weights();
    gradient = next;
  }
  graph.policy = random() % 2 == 0 ? OutputPolicy::kWhole : OutputPolicy::kSharded;
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

std::vector<PriceWeights> WeightsOfForms(const Landmarks& landmarks, double overlap, std::mt19937& random) {
  std::vector<PriceWeights> weights = {WeightsOf(landmarks, overlap, {.counts_local = true})};
  for (int i = 0; i < 24; ++i) {
    ScheduleForm form{.counts_local = i % 3 == 0};
    for (std::array<double, 3>* const side : {&form.before, &form.behind}) {
      for (double& weight : *side) weight = static_cast<double>(random() % 5) / 4;
    }
    weights.push_back(WeightsOf(landmarks, overlap, form));
  }
  return weights;
}

// As a plan says, and, so that every place is looked at, with a turn and ops in places anywhere.
std::vector<PriceWeights> WeightsOfForms(const ListedProblem& made, const Plan& plan, double overlap,
                                         std::mt19937& random) {
  Landmarks landmarks = LandmarksFor(made.problem, plan);
  std::vector<PriceWeights> weights = WeightsOfForms(landmarks, overlap, random);
  for (OpPlace& place : landmarks.places) place = static_cast<OpPlace>(random() % 3);
  landmarks = MakeLandmarks(BesideFinder(made.problem), landmarks.places,
                            SidesOfTurn(made.problem, OpId(random() % made.problem.num_ops())));
  for (PriceWeights& more : WeightsOfForms(landmarks, overlap, random)) weights.push_back(std::move(more));
  return weights;
}

constexpr double kOverlapsOfBounds[] = {1, 0.9, 0.5, 0};

// No sum of weighted prices is above the schedule of the same plan, whose landmarks another plan has found.
TEST(ScheduleBounds, FormsHoldForEachPlan) {
  std::mt19937 random(3);
  int waiting = 0, tight = 0, all = 0;
  for (int i = 0; i < 600; ++i) {
    const double overlap = kOverlapsOfBounds[i % 4];
    const ListedGraph graph = i % 3 == 0 ? RandomStep(random, 5) : RandomChain(random, 8);
    const ListedProblem made = MakeOverlapping(graph, overlap, 5e-6);
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

// The bound and, where `searched`, the schedule found against those of all plans, with and without a memory limit.
void CompareSchedules(const std::function<ListedGraph(std::mt19937&)>& draw, int count, bool limited,
                      bool searched = true) {
  std::mt19937 random(11);
  int reached = 0, proved = 0, shorter = 0, improvable = 0, all = 0;
  for (int i = 0; i < count; ++i) {
    const double overlap = kOverlapsOfBounds[i % 3];
    const ListedProblem made = MakeOverlapping(draw(random), overlap);
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
  EXPECT_GT(proved, all / 4);
  if (!searched) return;
  EXPECT_GT(reached, all * (limited ? 1 : 2) / 3);
  if (!limited) {
    EXPECT_GT(improvable, 0);
    EXPECT_GE(shorter, improvable * 2 / 5);
  }
}

ListedGraph ShortChain(std::mt19937& random) { return RandomChain(random, 4); }
ListedGraph ShortStep(std::mt19937& random) { return RandomStep(random, 2); }

TEST(ScheduleBounds, HoldForAllPlans) { CompareSchedules(ShortChain, 60, false); }
TEST(ScheduleBounds, HoldForAllPlansWithinALimit) { CompareSchedules(ShortChain, 30, true); }
TEST(ScheduleBounds, HoldForAllPlansOfSteps) { CompareSchedules(ShortStep, 10, false, false); }

// Where lists were cut, bounds hold for the plans of what was cut off, too: pins reach them.
TEST(ScheduleBounds, HoldForPlansBeyondCutLists) {
  std::mt19937 random(23);
  int beyond = 0, bounded = 0;
  for (int i = 0; i < 40; ++i) {
    ListedProblem made = MakeOverlapping(ShortChain(random), kOverlapsOfBounds[i % 3]);
    double least = INFINITY, least_sum = INFINITY;
    ForEveryPlan(made, [&](const Plan& plan, const Assignment&) {
      least = std::min(least, MakeSchedule(plan).summary.step);
      least_sum = std::min(least_sum, plan.total.seconds());
    });
    OpClass& op_class = made.problem.classes[random() % made.problem.classes.size()];
    auto cut = std::make_shared<CandidateList>(*op_class.list);
    cut->candidates.erase(cut->candidates.begin() + static_cast<int64_t>(random() % cut->candidates.size()));
    cut->truncated = true;
    op_class.list = std::move(cut);
    IndexLayouts(op_class);
    StrategyOptions options;
    options.values["gap"] = 0.0;
    const Result<Assignment> found = OptimalStrategy().solve(made.problem, options);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_LE(*found->schedule_bound_seconds, least * (1 + kRounding)) << "graph " << i;
    EXPECT_LE(found->lower_bound_seconds, least_sum * (1 + kRounding)) << "graph " << i;
    beyond += least < MakeSchedule(PlanOf(made, *found)).summary.step * (1 - kRounding);
    bounded += *found->schedule_bound_seconds > 0.5 * least;
  }
  EXPECT_GT(beyond, 5);
  EXPECT_GT(bounded, 20);
}

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
  for (int i = 0; i < 80; ++i) {
    const double overlap = kOverlapsOfBounds[i % 4];
    const ListedProblem made = MakeOverlapping(i % 8 == 0 ? ShortStep(random) : ShortChain(random), overlap);
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

std::vector<std::string> NamesOf(const ListedProblem& made, const std::function<bool(size_t)>& is_asked) {
  std::vector<std::string> names;
  for (size_t t = 0; t < made.graph->tensors.size(); ++t) {
    if (is_asked(t)) names.push_back(made.graph->tensors[t].name);
  }
  return names;
}

OpKinds OneKind(size_t ops) { return {std::vector<uint8_t>(ops, 0), std::vector<uint8_t>(ops, 1)}; }

// x - a - b - c - add - d, where add also reads a: nothing runs beside what is sent from c to add, from add to d, or
// for b; b and c run beside what is sent from a for add alone.
TEST(Beside, IsNothingWhereEverythingPasses) {
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
  const Beside found = BesideFinder(made.problem).Find(OneKind(5));
  EXPECT_THAT(NamesOf(made, [&](size_t t) { return found.any[t] == 0; }),
              ::testing::UnorderedElementsAre("x", "b", "c", "s", "d"));
  EXPECT_THAT(NamesOf(made, [&](size_t t) { return found.early[t] == 0; }),
              ::testing::UnorderedElementsAre("x", "a", "b", "c", "s", "d"));
}

// What is sent between gradients of activations has only gradients of weights beside it, those of weights everything.
TEST(Beside, AreGradientsOfWeights) {
  ListedGraph graph;
  graph.inputs = {"g0"};
  graph.shapes["g0"] = {64, 64};
  constexpr size_t kLayers = 100;  // more ops pass by the end of the step than the finder has in view at once
  std::vector<OpPlace> places;
  for (size_t l = 0; l < kLayers; ++l) {
    const std::string last = StrCat("g", l);
    for (const std::string& name : {StrCat("dw", l), StrCat("g", l + 1)}) {
      graph.shapes[name] = {64, 64};
      graph.ops.push_back({StrCat("op_", name), {last}, {name}, {"B -> B"}});
      places.push_back(name[0] == 'd' ? OpPlace::kAside : OpPlace::kChain);
    }
    graph.outputs.push_back(StrCat("dw", l));
  }
  for (size_t l = 0; l < kLayers; ++l) {  // updates at the end of the step
    const std::string name = StrCat("new", l);
    graph.shapes[name] = {64, 64};
    graph.ops.push_back({StrCat("op_", name), {StrCat("dw", l)}, {name}, {"B -> B"}});
    places.push_back(OpPlace::kAside);
  }
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  const Landmarks landmarks = MakeLandmarks(BesideFinder(made.problem), places, {});
  const ScheduleForm form{.before = {1, 1, 0.25}, .behind = {1, 1, 0.25}};
  const PriceWeights weights = WeightsOf(landmarks, 1, form);
  for (size_t t = 0; t < made.graph->tensors.size(); ++t) {
    const std::string& name = made.graph->tensors[t].name;

    if (name[0] != 'g' || name == StrCat("g", kLayers)) continue;
    EXPECT_EQ(weights.SentEarlyOf(TensorId(t)), 0.75) << name;
    EXPECT_EQ(weights.SentOf(TensorId(t)), 0) << name;  // for the gradient of a weight alone
  }
}

// A small op far ahead of its reader is set aside, and does not hide what passes between the two.
TEST(PlacesOfOps, SetSmallOpsAside) {
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = graph.shapes["table"] = {64, 64};
  StreamSeconds seconds;
  graph.ops.push_back({"table", {"t0"}, {"table"}, {"B -> B"}});
  seconds.ops.push_back(1e-6);
  constexpr int kOps = 60;
  for (int o = 0; o < kOps; ++o) {
    const std::string out = StrCat("t", o + 1);
    graph.shapes[out] = {64, 64};
    if (o + 1 < kOps) {
      graph.ops.push_back({StrCat("op", o), {StrCat("t", o)}, {out}, {"B -> B"}});
    } else {
      graph.ops.push_back({StrCat("op", o), {StrCat("t", o), "table"}, {out}, {"B B -> B"}});
    }
    seconds.ops.push_back(1);
  }
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  seconds.tensors.resize(made.graph->tensors.size());
  const auto bottlenecks = [&](const std::vector<OpPlace>& places) {
    const Landmarks landmarks = MakeLandmarks(BesideFinder(made.problem), places, {});
    return NamesOf(made, [&](size_t t) { return landmarks.IsBottleneck(TensorId(t)); }).size();
  };
  const std::vector<OpPlace> found = PlacesOfOps(made.problem, seconds, {});
  EXPECT_EQ(found[0], OpPlace::kAside);
  EXPECT_EQ(std::ranges::count(found, OpPlace::kChain), kOps);
  EXPECT_GE(bottlenecks(found), kOps);
  seconds.ops[0] = 1;  // too much to be left out
  const std::vector<OpPlace> branch = PlacesOfOps(made.problem, seconds, {});
  EXPECT_EQ(branch[0], OpPlace::kBranch);
  EXPECT_LT(bottlenecks(branch), 4);
  EXPECT_EQ(PlacesOfOps(made.problem, seconds, {.share = 1})[0], OpPlace::kAside);  // whatever it takes
}

}  // namespace
}  // namespace sbp
