// Planning again from an earlier plan whose pins were other ones: its bounds that still hold, against brute force, and
// its price, against planning afresh.
#include "strategy/optimal/replan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "base/text.h"
#include "schedule/schedule.h"
#include "strategy/all_strategies.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/changed_pins.h"
#include "strategy/optimal/kept_bound.h"
#include "support/every_plan.h"
#include "support/listed_problem.h"

namespace sbp {
namespace {

Plan BoundedPlanOf(const ListedProblem& made, const Assignment& assignment) {
  Plan plan = EvaluatedPlan(made.problem, assignment);
  plan.has_bound = assignment.has_bound;
  plan.lower_bound_seconds = assignment.lower_bound_seconds;
  plan.schedule_bound_seconds = assignment.schedule_bound_seconds;
  return plan;
}

// The options of a search that begins at that plan.
StrategyOptions OptionsFrom(const ListedProblem& before, const Plan& plan) {
  StrategyOptions options;
  options.start_answer = {std::make_shared<const Plan>(plan), before.problem.pins};
  for (size_t o = 0; o < before.problem.num_ops(); ++o)
    options.start_signatures.emplace_back(plan.decision(OpId(o)).signature);
  for (const NdSbp& layout : plan.source_layouts) options.start_sources.emplace_back(layout);
  return options;
}

NdSbp DrawnLayout(std::mt19937& random) {
  NdSbp layout(1);
  const Sbp choices[] = {Sbp::Broadcast(), Sbp::Split(0), Sbp::Split(1)};
  layout[0] = choices[random() % 3];
  return layout;
}

// Products with weights, each layer's result added to what it reads.
ListedGraph ResidualLayers(int count, std::mt19937& random) {
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = {2048, 2048};
  for (int i = 0; i < count; ++i) {
    const std::string weight = StrCat("w", i), product = StrCat("p", i), in = StrCat("t", i), out = StrCat("t", i + 1);
    for (const std::string& name : {weight, product, out}) graph.shapes[name] = {2048, 2048};
    graph.parameters.push_back(weight);
    std::vector<std::string> products = {"S(0) B -> S(0)", "B S(1) -> S(1)", "S(1) S(0) -> P(sum)"};
    if (random() % 4 == 0) products.pop_back();
    graph.ops.push_back({StrCat("mul", i), {in, weight}, {product}, products});
    graph.ops.push_back(
        {StrCat("add", i), {in, product}, {out}, {"S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "B B -> B"}});
  }
  graph.outputs = {StrCat("t", count)};
  return graph;
}

TEST(KeptBound, IsBelowEveryPlanOnceAPinIsGone) {
  std::mt19937 random(3);
  for (int i = 0; i < 12; ++i) {
    ListedGraph graph = ResidualLayers(2, random);
    graph.pins[i % 2 == 0 ? "w0" : "t0"] = DrawnLayout(random);
    const ListedProblem before = MakeListedProblem(graph, *ParseMesh("4"));
    graph.pins.clear();
    const ListedProblem now = MakeListedProblem(graph, *ParseMesh("4"));
    const Result<Assignment> pinned = OptimalStrategy().solve(before.problem, {});
    ASSERT_TRUE(pinned.ok()) << pinned.status().message();
    const Plan plan = BoundedPlanOf(before, *pinned);
    const ChangedPins changed = FindChangedPins(*now.graph, before.problem.pins, now.problem.pins);
    EXPECT_EQ(changed.freed_sources.size(), 1u);
    const EarlierAnswer earlier = {std::make_shared<const Plan>(plan), before.problem.pins};
    const std::optional<KeptBound> bound = BoundThatHolds(now.problem, earlier, changed, {});
    ASSERT_TRUE(bound);
    double least_sum = INFINITY, least_step = INFINITY;
    ForEveryAssignment(now.problem, SourcesOf(*now.graph), [&](const Assignment& assignment) {
      const Plan any = BoundedPlanOf(now, assignment);
      least_sum = std::min(least_sum, any.total.seconds());
      least_step = std::min(least_step, MakeSchedule(any).summary.step);
    });
    EXPECT_LE(bound->sum, least_sum * (1 + 1e-9)) << "graph " << i;
    EXPECT_LE(bound->schedule, least_step * (1 + 1e-9)) << "graph " << i;
  }
}

TEST(KeptBound, NeedsAllThatItFollowsFrom) {
  std::mt19937 random(4);
  ListedGraph graph = ResidualLayers(2, random);
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  Plan plan = BoundedPlanOf(made, *OptimalStrategy().solve(made.problem, {}));
  const auto holds = [&](const ChangedPins& changed, std::optional<int64_t> limit) {
    return BoundThatHolds(made.problem, {std::make_shared<const Plan>(plan), {}}, changed, limit).has_value();
  };
  EXPECT_TRUE(holds({}, {}));
  EXPECT_TRUE(holds({}, 100));  // less room, fewer plans
  EXPECT_FALSE(holds({.freed_others = true}, {}));
  plan.options.memory_limit = 50;
  EXPECT_TRUE(holds({}, 50));
  EXPECT_FALSE(holds({}, 100));
  EXPECT_FALSE(holds({}, {}));
  plan.options.memory_limit.reset();
  plan.has_bound = false;
  EXPECT_FALSE(holds({}, {}));
}

// A pin added, gone, or another one.
TEST(Replan, IsAsGoodAsPlanningAfresh) {
  std::mt19937 random(5);
  int again = 0;
  const int count = 24;
  for (int i = 0; i < count; ++i) {
    ListedGraph graph = ResidualLayers(30, random);
    const std::string weight = StrCat("w", 1 + random() % 28);
    if (i % 3 != 0) graph.pins[weight] = DrawnLayout(random);
    const ListedProblem before = MakeListedProblem(graph, *ParseMesh("4"));
    if (i % 3 == 1) {
      graph.pins.clear();
    } else {
      graph.pins[weight] = DrawnLayout(random);
    }
    const ListedProblem now = MakeListedProblem(graph, *ParseMesh("4"));
    const Result<Assignment> first = OptimalStrategy().solve(before.problem, {});
    const Result<Assignment> afresh = OptimalStrategy().solve(now.problem, {});
    ASSERT_TRUE(first.ok() && afresh.ok());
    const StrategyOptions options = OptionsFrom(before, BoundedPlanOf(before, *first));
    const Result<Assignment> found = OptimalStrategy().solve(now.problem, options);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const double step = MakeSchedule(BoundedPlanOf(now, *found)).summary.step;
    const double step_afresh = MakeSchedule(BoundedPlanOf(now, *afresh)).summary.step;
    EXPECT_LE(step, step_afresh * 1.001) << "case " << i;
    EXPECT_TRUE(found->has_bound);
    EXPECT_LE(found->schedule_bound_seconds.value_or(0), step_afresh * (1 + 1e-9)) << "case " << i;
    EXPECT_LE(found->lower_bound_seconds, BoundedPlanOf(now, *afresh).total.seconds() * (1 + 1e-9)) << "case " << i;
    again += Replan(now.problem, options, SearchOptionsOf(options)).has_value();
  }
  EXPECT_GE(again, count / 2);  // the others are searched as a whole
}

TEST(Replan, LeavesTheSearchToThoseWhoAskForWork) {
  std::mt19937 random(6);
  ListedGraph graph = ResidualLayers(12, random);
  const ListedProblem before = MakeListedProblem(graph, *ParseMesh("4"));
  graph.pins["w6"] = NdSbp(1);
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  Plan plan = BoundedPlanOf(before, *OptimalStrategy().solve(before.problem, {}));
  plan.options.uniform = 0.01;  // as every plan has one
  StrategyOptions options = OptionsFrom(before, plan);
  EXPECT_FALSE(Replan(before.problem, options, SearchOptionsOf(options)));  // nothing has changed
  options.memory_limit = 1'000'000'000'000;
  EXPECT_TRUE(Replan(before.problem, options, SearchOptionsOf(options)));
  options.memory_limit.reset();
  EXPECT_TRUE(Replan(made.problem, options, SearchOptionsOf(options)));
  options.values["uniform"] = 0.01;  // as --start takes over from the plan
  EXPECT_TRUE(Replan(made.problem, options, SearchOptionsOf(options)));
  EXPECT_TRUE(LeadsAstray(made.problem, options));
  EXPECT_FALSE(LeadsAstray(before.problem, options));
  options.values["uniform"] = 0.05;
  EXPECT_FALSE(Replan(made.problem, options, SearchOptionsOf(options)));
  options.values.clear();
  options.values["effort"] = 2.0;
  EXPECT_FALSE(Replan(made.problem, options, SearchOptionsOf(options)));
  EXPECT_FALSE(LeadsAstray(made.problem, options));
  options.values.clear();
  options.start_signatures[3].reset();
  EXPECT_FALSE(Replan(made.problem, options, SearchOptionsOf(options)));
  options.start_answer.reset();
  EXPECT_FALSE(Replan(made.problem, options, SearchOptionsOf(options)));
}

}  // namespace
}  // namespace sbp
