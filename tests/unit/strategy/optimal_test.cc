// optimal against brute force: every candidate of every op with every layout of the input.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include "base/text.h"
#include "boxing/op_seconds.h"
#include "graph/builder.h"
#include "rule/rule_set.h"
#include "strategy/all_strategies.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/layout_bound.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/merged_axes.h"
#include "strategy/optimal/network_size.h"
#include "strategy/optimal/search_options.h"
#include "strategy/optimal/what_if.h"
#include "support/every_plan.h"
#include "support/listed_problem.h"
#include "unit/strategy/priced.h"
#include "unit/strategy/random_graph.h"

namespace sbp {
namespace {

// A policy for outputs (the last result and some of the others), and pins of how up to two tensors lie, partial ones
// too where they are no outputs.
void AddDemands(std::mt19937& random, ListedGraph& graph, int num_axes) {
  graph.policy = random() % 3 == 0 ? OutputPolicy::kWhole : OutputPolicy::kSharded;
  for (size_t o = 1; o <= graph.ops.size(); ++o) {
    if (o == graph.ops.size() || random() % 3 == 0) graph.outputs.push_back(StrCat("t", o));
  }
  const Sbp choices[] = {Sbp::Broadcast(), Sbp::Split(0), Sbp::Split(1), Sbp::Partial()};
  for (unsigned count = random() % 3; count > 0; --count) {
    const std::string name = StrCat("t", 1 + random() % graph.ops.size());
    const bool is_output = std::find(graph.outputs.begin(), graph.outputs.end(), name) != graph.outputs.end();
    NdSbp layout(num_axes);
    for (int axis = 0; axis < num_axes; ++axis) layout[axis] = choices[random() % (is_output ? 3 : 4)];
    graph.lies[name] = layout;
  }
}

enum class Wanted { kReadersOnly, kDemands };

void CompareWithBruteForce(const char* mesh_text, int num_ops, int count, bool limited,
                           Wanted wanted = Wanted::kReadersOnly) {
  const Mesh mesh = *ParseMesh(mesh_text);
  std::mt19937 random(7);
  int kept = 0, missed = 0, reached = 0;
  for (int i = 0; i < count; ++i) {
    ListedGraph graph = RandomGraph(random, num_ops);
    if (wanted == Wanted::kDemands) AddDemands(random, graph, mesh.num_axes());
    const ListedProblem made = MakeListedProblem(graph, mesh);
    std::vector<Priced> all;
    std::vector<Assignment> plans;
    ForEveryPrice(made, [&](const Priced& priced, const Assignment& assignment) {
      all.push_back(priced);
      if (limited) plans.push_back(assignment);
    });
    StrategyOptions options;
    options.values["objective"] = std::string("sum");
    if (limited) {  // halfway between the least peak and that of the fastest
      const auto by_peak = [](const Priced& a, const Priced& b) { return a.peak < b.peak; };
      const auto by_time = [](const Priced& a, const Priced& b) { return a.seconds < b.seconds; };
      options.memory_limit = (std::min_element(all.begin(), all.end(), by_peak)->peak +
                              std::min_element(all.begin(), all.end(), by_time)->peak) /
                             2;
    }
    double least = INFINITY;
    for (size_t p = 0; p < all.size(); ++p) {
      const bool fits = !limited || all[p].peak <= *options.memory_limit;
      least = std::min(least, fits ? all[p].seconds : SecondsWithin(made, plans[p], *options.memory_limit));
    }
    const Result<Assignment> found = OptimalStrategy().solve(made.problem, options);
    if (limited && !found.ok()) {
      EXPECT_EQ(found.status().code(), Code::kNoPlan) << found.status().message();
      const bool is_proved = found.status().message().starts_with("no plan fits");
      EXPECT_TRUE(!is_proved || std::isinf(least)) << mesh_text << " graph " << i;
      continue;
    }
    ASSERT_TRUE(found.ok()) << found.status().message();
    const Priced priced = PriceOf(made, *found);
    EXPECT_LE(found->lower_bound_seconds, least * (1 + 1e-9)) << mesh_text << " graph " << i;
    if (!limited) {
      EXPECT_GE(priced.seconds, least * (1 - 1e-9)) << mesh_text << " graph " << i;
      missed += priced.seconds > least * (1 + (wanted == Wanted::kDemands ? SearchOptionsOf(options).gap : 1e-9));
      for (const char* other : {"greedy", "einsum", "replicate"}) {
        const Result<Assignment> theirs = (*FindStrategy(other))->solve(made.problem, options);
        if (!theirs.ok()) continue;
        EXPECT_GE(PriceOf(made, *theirs).seconds, least * (1 - 1e-9)) << other << " graph " << i;
      }
    } else {
      const double within = SecondsWithin(made, *found, *options.memory_limit);
      EXPECT_FALSE(std::isinf(within)) << mesh_text << " graph " << i << " does not keep the limit";
      EXPECT_GE(within, least * (1 - 1e-9)) << mesh_text << " graph " << i;
      ++kept;
      reached += within <= least * (1 + 1e-3);
    }
  }
  // Of three and more that want a tensor, as ends often are, two may want the same third layout: that is priced twice
  // in the network (layout_network.h), and a better plan may be missed. Never is one below the bound.
  EXPECT_LE(missed, wanted == Wanted::kDemands ? count / 20 : 1);
  // Copies are half of the memory of graphs this small, and only priced: a plan that fits may be missed now and then,
  // and the best one more often.
  if (limited) {
    EXPECT_GE(kept, count * 9 / 10);
    EXPECT_GE(reached, kept * 2 / 3);
  }
}

TEST(Optimal, EqualsBruteForceOnOneAxis) { CompareWithBruteForce("4", 5, 50, false); }
TEST(Optimal, EqualsBruteForceOnTwoAxes) { CompareWithBruteForce("2,2", 3, 10, false); }
TEST(Optimal, EqualsBruteForceWithPinsAndOutputs) { CompareWithBruteForce("4", 5, 60, false, Wanted::kDemands); }
TEST(Optimal, EqualsBruteForceWithPinsAndOutputsOnTwoAxes) {
  CompareWithBruteForce("2,2", 3, 10, false, Wanted::kDemands);
}
TEST(Optimal, KeepsTheMemoryLimitWithPinsAndOutputs) { CompareWithBruteForce("4", 4, 30, true, Wanted::kDemands); }
TEST(Optimal, KeepsTheMemoryLimit) { CompareWithBruteForce("4", 5, 40, true); }

TEST(Optimal, ExplainsWhatDoesNotFitOnlyWhereAsked) {
  std::mt19937 random(7);
  const ListedProblem made = MakeListedProblem(RandomGraph(random, 4), *ParseMesh("4"));
  StrategyOptions options;
  options.memory_limit = 1;
  const Status explained = OptimalStrategy().solve(made.problem, options).status();
  EXPECT_EQ(explained.code(), Code::kNoPlan);
  EXPECT_NE(explained.message().find("the smallest peak"), std::string::npos) << explained.message();
  options.explains = false;
  const Status brief = OptimalStrategy().solve(made.problem, options).status();
  EXPECT_EQ(brief.code(), Code::kNoPlan);
  EXPECT_EQ(brief.message(), "no plan fits into --memory-limit 1 B");
}

TEST(WhatIf, HoldsTheTrueStepOfEachAlternative) {
  std::mt19937 random(5);
  int proved = 0;
  int bounded = 0;
  int reached = 0;
  int all = 0;
  for (int i = 0; i < 15; ++i) {
    const ListedProblem made = MakeListedProblem(RandomGraph(random, 4), *ParseMesh("4"));
    const OpId op(random() % 4);
    std::vector<uint32_t> candidates(made.problem.candidates(op).candidates.size());
    std::iota(candidates.begin(), candidates.end(), 0);
    std::vector<double> least(candidates.size(), INFINITY);
    ForEveryPrice(made, [&](const Priced& priced, const Assignment& assignment) {
      double& known = least[assignment.ops[op.index()].candidate];
      known = std::min(known, priced.seconds);
    });
    const Result<Assignment> best = OptimalStrategy().solve(made.problem, {});
    ASSERT_TRUE(best.ok());
    const auto steps = StepsIfForced(made.problem, *best, op, candidates,
                                     {.searched = candidates.size(), .priced = candidates.size()}, {});
    const auto bounds = StepsIfForced(made.problem, *best, op, candidates, {.priced = candidates.size()}, {});
    ASSERT_TRUE(steps.ok() && bounds.ok());
    // The same of many questions at once.
    const std::vector<ForcedQuestion> questions(2, {op, {candidates.begin(), candidates.end()}});
    const auto many =
        StepsIfForced(made.problem, *best, questions, {.searched = candidates.size(), .priced = candidates.size()}, {});
    ASSERT_TRUE(many.ok());
    ASSERT_EQ(many->size(), questions.size());
    for (size_t c = 0; c < candidates.size(); ++c) {
      const ForcedStep& step = (*steps)[c];
      for (const std::vector<ForcedStep>& answer : *many) {
        EXPECT_EQ(answer[c].at_least, step.at_least);
        EXPECT_EQ(answer[c].at_most, step.at_most);
      }
      EXPECT_LE(step.at_least, least[c] * (1 + 1e-9)) << "graph " << i << " candidate " << c;
      EXPECT_GE(step.at_most, least[c] * (1 - 1e-9)) << "graph " << i << " candidate " << c;
      EXPECT_LE((*bounds)[c].at_least, least[c] * (1 + 1e-9)) << "graph " << i << " candidate " << c;
      EXPECT_GE((*bounds)[c].at_most, least[c] * (1 - 1e-9)) << "graph " << i << " candidate " << c;
      bounded += (*bounds)[c].at_least >= least[c] * (1 - 1e-9);
      proved += step.at_most <= step.at_least * (1 + 1e-9);
      reached += step.at_most <= least[c] * (1 + 1e-9);
      ++all;
    }
  }
  EXPECT_GT(bounded, all / 4);  // min-marginals are often exact
  EXPECT_GT(proved, all / 4);
  EXPECT_GT(reached, all * 2 / 3);
}

// A choice written from an assignment means that assignment, and costs what the evaluator says where nothing is shared
// beside the hub; the relaxed network never costs more.
TEST(LayoutNetwork, PricesAsTheEvaluatorDoes) {
  std::mt19937 random(11);
  for (int i = 0; i < 40; ++i) {
    ListedGraph graph = RandomGraph(random, 5);
    if (i % 2 == 1) AddDemands(random, graph, 1);
    const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
    const Result<LayoutNetwork> exact = LayoutNetwork::Build(made.problem);
    const Result<LayoutNetwork> relaxed = LayoutNetwork::Build(made.problem, {.relaxed = true});
    ASSERT_TRUE(exact.ok() && relaxed.ok());
    Assignment assignment;
    assignment.reasons = {"test"};
    assignment.sources = InitialSourceLayouts(made.problem);
    for (size_t o = 0; o < made.problem.num_ops(); ++o) {
      const auto count = static_cast<uint32_t>(made.problem.candidates(OpId(o)).candidates.size());
      assignment.ops.push_back({.candidate = static_cast<uint32_t>(random() % count)});
    }
    const double seconds = PriceOf(made, assignment).seconds;
    const auto choice = exact->Write(assignment);
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_GE(Evaluate(exact->network(), *choice).value, seconds * (1 - 1e-9));
    const auto below = relaxed->Write(assignment);
    ASSERT_TRUE(below.ok()) << below.status().message();
    EXPECT_LE(Evaluate(relaxed->network(), *below).value, seconds * (1 + 1e-9));
    Assignment again;
    exact->Read(*choice, again);
    EXPECT_EQ(again.sources, assignment.sources);
    for (size_t o = 0; o < made.problem.num_ops(); ++o) {
      EXPECT_EQ(again.ops[o].candidate, assignment.ops[o].candidate);
    }
  }
}

// Twice the same kernel group, once in each micro-batch and once in a step: what cuts it costs as often as it runs.
TEST(LayoutNetwork, PricesCutsByHowOftenGroupsRun) {
  const RuleSet rules = *RuleSet::Builtin();
  GraphBuilder builder("sections");
  const TensorType type{DType::kF32, {256, 256}};
  builder.AddInput("x", type);
  for (const char* name : {"sum", "w"}) builder.AddParameter(name, type);
  builder.AddParameter("c", {DType::kF32, {}});
  const auto add = [&](std::string_view op, const std::string& name, const std::vector<std::string>& reads) {
    builder.AddOp(op, name, reads, {name});
    builder.DescribeTensor(name, type);
  };
  const auto add_group = [&](const std::string& name, const std::string& reads) {
    add("Mul", name + "/square", {reads, reads});
    add("Sqrt", name + "/root", {name + "/square"});
    add("Add", name + "/more", {name + "/root", "c"});
    add("Div", name, {name + "/square", name + "/more"});
  };
  add_group("micro", "x");
  add("Add", "next/sum", {"sum", "micro"});
  add_group("next/w", "next/sum");
  for (const char* name : {"sum", "w"}) {
    builder.AddOutput(StrCat("next/", name));
    builder.AddTie(StrCat("next/", name), name, std::string_view(name) == "sum");
  }
  builder.graph().micro_batches = 4;
  const Graph graph = *builder.Build("sections");
  const Result<Problem> made = BuildProblem(graph, rules, *ParseMesh("4"), *FindPreset("8xH100"), {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Result<LayoutNetwork> relaxed = LayoutNetwork::Build(*made, {.relaxed = true});
  ASSERT_TRUE(relaxed.ok());
  std::mt19937 random(5);
  int cut = 0;
  for (int i = 0; i < 200; ++i) {
    Assignment assignment = FirstAssignment(*made);
    for (size_t o = 0; o < made->num_ops(); ++o) {
      const std::span<const uint32_t> candidates = relaxed->candidates_of(OpId(o));
      assignment.ops[o].candidate = candidates[random() % candidates.size()];
    }
    const Plan plan = EvaluatedPlan(*made, assignment);
    cut += std::ranges::any_of(plan.transitions, [](const Transition& made) { return made.cut_seconds > 0; });
    const Result<std::vector<int32_t>> choice = relaxed->Write(assignment);
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_LE(Evaluate(relaxed->network(), *choice).value, plan.total.seconds() * (1 + 1e-9)) << "plan " << i;
  }
  EXPECT_GT(cut, 100);
}

// Few candidates of each op in the network: what it finds is a plan, no better than the bound over all candidates says,
// and what was to be kept is there.
TEST(LayoutNetwork, OfChosenCandidates) {
  std::mt19937 random(13);
  for (int i = 0; i < 10; ++i) {
    const ListedProblem made = MakeListedProblem(RandomGraph(random, 5), *ParseMesh("2,2,2"));
    const Result<CandidateLists> all = CandidateLists::All(made.problem);
    const Result<Assignment> other = (*FindStrategy("replicate"))->solve(made.problem, {});
    ASSERT_TRUE(all.ok());
    if (!other.ok()) continue;  // not all of these graphs can be replicated
    const double upper = PriceOf(made, *other).seconds;
    LayoutBound bound(made.problem, *all, upper);
    bound.Ascend(50'000'000);
    const std::vector<Assignment> kept = {*other};
    const CandidateLists chosen = ChooseCandidates(made.problem, *all, *all, bound, upper, kept, 1);
    for (size_t o = 0; o < made.problem.num_ops(); ++o) EXPECT_LE(chosen.of(OpId(o)).size(), 2);
    const Result<LayoutNetwork> network = LayoutNetwork::Build(made.problem, {.lists = &chosen, .start = &*other});
    ASSERT_TRUE(network.ok()) << network.status().message();
    EXPECT_TRUE(network->Write(*other).ok());
    Assignment read;
    network->Read(std::vector<int32_t>(network->network().nodes.size(), 0), read);
    EXPECT_GE(PriceOf(made, read).seconds, bound.bound() * (1 - 1e-9));
  }
}

// Those of merged axes: a mesh of sizes 4 and 2 has as many candidates as one of 2, 2 and 2 whose first two axes are
// alike, and one of 4 and 4 as one of four axes.
TEST(ListsOfMergedAxes, AreThoseOfTheMergedMesh) {
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = graph.shapes["t1"] = graph.shapes["t2"] = {64, 64};
  graph.ops.push_back({"op0", {"t0"}, {"t1"}, {"S(0) -> S(0)", "S(1) -> P(sum)", "B -> B"}});
  graph.ops.push_back({"op1", {"t0", "t1"}, {"t2"}, {"S(0) B -> S(0)", "B B -> B"}});
  for (const auto& [whole, merged] :
       {std::pair("2,2,2", "4,2"), std::pair("2,2,2,2", "4,4"), std::pair("4,2", "4,2")}) {
    const ListedProblem made = MakeListedProblem(graph, *ParseMesh(whole));
    const ListedProblem small = MakeListedProblem(graph, *ParseMesh(merged));
    const Result<CandidateLists> all = CandidateLists::All(made.problem);
    ASSERT_TRUE(all.ok());
    const CandidateLists lists = ListsOfMergedAxes(made.problem, *all);
    for (size_t o = 0; o < made.problem.num_ops(); ++o) {
      const OpId op(o);
      EXPECT_EQ(lists.of(op).size(), small.problem.candidates(op).candidates.size()) << whole;
      for (const uint32_t c : lists.of(op)) {
        for (const NdSbp& layout : made.problem.candidates(op).candidates[c].signature.inputs) {
          for (int axis = 1; layout.size() > 2 && axis < layout.size(); axis += 2) {
            EXPECT_EQ(layout[axis], layout[axis - 1]);
          }
        }
      }
    }
  }
}

// Layouts enough that not all candidates can be looked at together: never worse than the others, the bound below, and
// the same again.
TEST(Optimal, ChoosesCandidatesOnFourAxes) {
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = {64, 64, 64};
  for (int o = 0; o < 8; ++o) {
    const std::string out = StrCat("t", o + 1);
    graph.shapes[out] = {64, 64, 64};
    graph.ops.push_back({StrCat("op", o),
                         {StrCat("t", o), StrCat("t", o / 2)},
                         {out},
                         {"S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "S(2) S(2) -> S(2)", "S(2) S(1) -> P(sum)",
                          "P(sum) B -> P(sum)", "B B -> B"}});
  }
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("2,2,2,2"));
  const Result<CandidateLists> all = CandidateLists::All(made.problem);
  ASSERT_TRUE(all.ok());
  ASSERT_FALSE(FitsNetwork(made.problem, *all, false));
  const Result<Assignment> found = OptimalStrategy().solve(made.problem, {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  const double seconds = PriceOf(made, *found).seconds;
  EXPECT_GT(found->lower_bound_seconds, 0);
  EXPECT_LE(found->lower_bound_seconds, seconds);
  for (const char* name : {"einsum", "greedy", "replicate"}) {
    const Result<Assignment> other = (*FindStrategy(name))->solve(made.problem, {});
    if (other.ok()) {
      EXPECT_LE(seconds, PriceOf(made, *other).seconds) << name;
    }
  }
  const Result<Assignment> again = OptimalStrategy().solve(made.problem, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(seconds, PriceOf(made, *again).seconds);
  // What if an op were forced to another candidate: bounds below what is reached.
  const std::vector<uint32_t> candidates = {0, 1, 200};
  const auto steps =
      StepsIfForced(made.problem, *found, OpId(3), candidates, {.searched = 2, .priced = candidates.size()}, {});
  ASSERT_TRUE(steps.ok());
  for (const ForcedStep& step : *steps) EXPECT_LE(step.at_least, step.at_most * (1 + 1e-9));
}

}  // namespace
}  // namespace sbp
