// The price of a step that accumulates gradients, under every strategy: K times what a micro-batch does, and once what
// the step does. What runs how often is told here from names and readers alone, and told again by pricing the same plan
// for another K.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/sbp_plan.h"

namespace sbp {
namespace {

struct Way {
  const char *strategy, *recipe;
};

PlanningInput TrainingStep(const Way& way, int64_t micro_batches) {
  PlanningInput input;
  input.model = SBP_SOURCE_DIR "/examples/megatron/graph.json";
  input.resolve.bindings = {{"batch", 4}, {"seq", 8}};
  input.mesh = ParseMesh("2").value();
  input.strategy = way.strategy;
  if (input.strategy == "optimal")
    input.strategy_options["objective"] = std::string("sum");  // zero2 reduces each time then
  input.recipe = way.recipe;
  input.train.emplace();
  input.train->loss = "mse:layers.1.residual2.out";
  input.train->update.optimizer.optimizer = "adamw";
  input.train->update.accumulate = micro_batches;
  return input;
}

// Ops that read a finished sum, however far behind it.
std::set<OpId> OpsOfStep(const Graph& graph) {
  std::set<TensorId> late;
  for (const Tie& tie : graph.ties) {
    if (tie.restarts) late.insert(tie.output);
  }
  std::set<OpId> ops;
  for (uint32_t o = 0; o < graph.ops.size(); ++o) {
    const Op& op = graph.ops[o];
    if (graph.scope_of(op).starts_with("optimizer") &&
        std::ranges::any_of(op.inputs, [&](TensorId id) { return late.contains(id); })) {
      ops.insert(OpId(o));
      late.insert(op.outputs.begin(), op.outputs.end());
    }
  }
  return ops;
}

struct Prices {
  double micro = 0, step = 0;  // of one micro-batch; of what is done once
  int64_t gradients_once = 0;  // all-reduces and reduce-scatters of sums, done once
  int64_t gradients_each = 0;  // ... of a gradient, for each micro-batch
};

// Nothing where a transition serves both.
Prices PricesOf(const Plan& plan) {
  const Graph& graph = plan.graph;
  const std::set<OpId> step = OpsOfStep(graph);
  std::set<TensorId> sums, carried;  // accumulators' next values; what a tie carries over
  for (const Tie& tie : graph.ties) (tie.restarts ? sums : carried).insert(tie.output);
  Prices prices;
  // An op that only such ops read, as a constant of the optimizer, runs once too.
  std::vector<bool> once(graph.ops.size());
  const UseTable uses = BuildUses(graph);
  for (size_t o = graph.ops.size(); o-- > 0;) {
    bool read = false, by_step = true;
    for (const TensorId id : graph.ops[o].outputs) {
      if (!id.valid()) continue;
      const auto [begin, end] = uses.of(id);
      for (const Use* use = begin; use != end; ++use) {
        read = true;
        by_step = by_step && once[use->op.index()];
      }
      by_step = by_step && !sums.contains(id) && std::ranges::count(graph.outputs, id) == 0;
    }
    once[o] = step.contains(OpId(o)) || (read && by_step);
    (once[o] ? prices.step : prices.micro) += plan.decision(OpId(o)).compute_seconds;
  }
  std::vector<bool> each(plan.transitions.size());
  for (size_t i = plan.transitions.size(); i-- > 0;) {
    const Transition& t = plan.transitions[i];
    const bool carries = std::ranges::any_of(graph.ties, [&](const Tie& tie) {  // lies so where the next one begins
      return tie.output == t.tensor && plan.source_layouts[tie.input.index()] == t.to;
    });
    const OpId producer = graph.tensor(t.tensor).producer;
    bool micro = std::ranges::any_of(t.consumers, [&](const Use& use) { return !once[use.op.index()]; }) ||
                 (carries && producer.valid() && !once[producer.index()]);
    bool goes_on = false;
    for (size_t j = i + 1; j < plan.transitions.size(); ++j) {
      const Transition& next = plan.transitions[j];
      if (next.tensor != t.tensor || next.from != t.to) continue;
      goes_on = true;
      micro = micro || each[j];
    }
    // Nobody reads it: so the tensor is handed out.
    if (t.consumers.empty() && !goes_on && producer.valid()) micro = micro || !once[producer.index()];
    each[i] = micro;
    (micro ? prices.micro : prices.step) += t.seconds + t.cut_seconds;
    const bool reduces = t.from[0].is_partial();
    if (reduces && sums.contains(t.tensor) && !micro) ++prices.gradients_once;
    if (reduces && graph.tensor(t.tensor).name.starts_with("grad/") && micro) ++prices.gradients_each;
  }
  return prices;
}

// The same decisions for another number of micro-batches.
Result<Plan> PriceAgain(const Plan& plan, const RuleSet& rules, int64_t micro_batches) {
  SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(TrainingStep({"greedy", ""}, micro_batches), rules));
  request.options.strategy = "fixed";
  if (request.graph.ops.size() != plan.graph.ops.size()) return BadInput("another graph");
  for (uint32_t o = 0; o < plan.graph.ops.size(); ++o) {
    request.strategy.given_signatures.push_back(plan.decision(OpId(o)).signature);
  }
  request.strategy.given_sources = plan.source_layouts;
  return MakePlan(std::move(request));
}

TEST(Accumulation, EveryStrategyPricesSectionsAlike) {
  const RuleSet rules = LoadRules().value();
  constexpr Way kWays[] = {{"greedy", ""},    {"einsum", ""},       {"optimal", ""},      {"replicate", ""},
                           {"optimal", "dp"}, {"optimal", "zero1"}, {"optimal", "zero2"}, {"optimal", "zero3"},
                           {"optimal", "tp"}, {"greedy", "dp"},     {"greedy", "zero2"}};
  for (const Way& way : kWays) {
    SCOPED_TRACE(std::string(way.strategy) + " " + way.recipe);
    auto request = PreparePlan(TrainingStep(way, 4), rules);
    ASSERT_TRUE(request.ok()) << request.status().message();
    const auto plan = MakePlan(*std::move(request));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const Prices prices = PricesOf(*plan);
    ASSERT_GT(prices.micro, 0);
    ASSERT_GT(prices.step, 0);
    EXPECT_NEAR(plan->total.seconds(), 4 * prices.micro + prices.step, 1e-9 * plan->total.seconds());
    const auto more = PriceAgain(*plan, rules, 10);
    ASSERT_TRUE(more.ok()) << more.status().message();
    EXPECT_NEAR(more->total.seconds() - plan->total.seconds(), 6 * prices.micro, 1e-9 * more->total.seconds());
    const std::string recipe = way.recipe;
    if (recipe == "dp" || recipe == "zero1") {
      EXPECT_GT(prices.gradients_once, 0);
      EXPECT_EQ(prices.gradients_each, 0);
    }
    if (recipe == "zero2") {
      EXPECT_EQ(prices.gradients_once, 0);  // sums lie split: reduced for each micro-batch
    }
  }
}

}  // namespace
}  // namespace sbp
