// What a layout network holds at each moment of a step, against what plans hold then.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "fold/resolve.h"
#include "generate/generate.h"
#include "grad/grad.h"
#include "graph/families.h"
#include "memory/memory.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "search/cost_network.h"
#include "strategy/all_strategies.h"
#include "strategy/optimal/layout_network.h"
#include "support/every_plan.h"

namespace sbp {
namespace {

const RuleSet& Rules() {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  return *rules;
}

// Gradients of two layers of a decoder: weights that both passes read, tensors moved without a kernel, kernel groups.
Graph MakeTrainingGraph(int64_t hidden, int64_t sequence) {
  GenerateOptions options;
  options.sizes = {.layers = 2, .hidden = hidden, .heads = 8, .feed_forward = 4 * hidden, .kv_heads = 4};
  options.sizes.vocabulary = 512;
  options.sizes.batch = 8;
  options.sizes.sequence = sequence;
  const auto resolve = [](Graph graph) -> Result<Graph> {
    SBP_ASSIGN_OR_RETURN(Resolved resolved, Resolve(std::move(graph), Rules(), {}));
    return std::move(resolved.graph);
  };
  const auto make = [&]() -> Result<Graph> {
    SBP_ASSIGN_OR_RETURN(Graph forward, GenerateGraph("llama", options));
    SBP_ASSIGN_OR_RETURN(forward, resolve(std::move(forward)));
    GradRequest request;
    request.loss = "mean:" + forward.tensor(forward.outputs[0]).name;
    SBP_ASSIGN_OR_RETURN(GradGraph made, MakeGradGraph(std::move(forward), Rules(), request));
    return resolve(std::move(made.graph));
  };
  Result<Graph> graph = make();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *std::move(graph) : Graph();
}

class NetworkMemory : public ::testing::Test {
 protected:
  const Graph& graph() const { return *graph_; }
  const Problem& problem() const { return *problem_; }
  void Pose(int64_t hidden, int64_t sequence, const char* mesh) {
    graph_ = std::make_unique<Graph>(MakeTrainingGraph(hidden, sequence));
    Result<Problem> made = BuildProblem(*graph_, Rules(), *ParseMesh(mesh), *FindPreset("8xH100"), {});
    ASSERT_TRUE(made.ok()) << made.status().message();
    problem_ = std::make_unique<Problem>(*std::move(made));
  }
  LayoutNetwork Network(bool relaxed, int64_t limit = int64_t{1} << 60) const {
    Result<LayoutNetwork> network = LayoutNetwork::Build(problem(), {.memory_limit = limit, .relaxed = relaxed});
    EXPECT_TRUE(network.ok()) << network.status().message();
    return *std::move(network);
  }
  // Per op.
  std::vector<int64_t> HeldByPlan(const Assignment& assignment) const {
    const Plan plan = EvaluatedPlan(problem(), assignment);
    const StepOrder order = OrderOfStep(plan);
    return MostHeldByOp(order, Lifetimes(plan, order));
  }
  static std::vector<int64_t> HeldByNetwork(const LayoutNetwork& network, const Assignment& assignment) {
    const Result<std::vector<int32_t>> choice = network.Write(assignment);
    EXPECT_TRUE(choice.ok()) << choice.status().message();
    return network.HeldBy(*choice);
  }
  Assignment SolvedBy(std::string_view strategy) const {
    Result<Assignment> solved = (*FindStrategy(strategy))->solve(problem(), {});
    EXPECT_TRUE(solved.ok()) << solved.status().message();
    return *std::move(solved);
  }

 private:
  std::unique_ptr<const Graph> graph_;
  std::unique_ptr<const Problem> problem_;
};

// At no moment: so that what it proves of limits holds for plans.
TEST_F(NetworkMemory, OfTheRelaxedOneIsNeverMoreThanAPlans) {
  Pose(64, 32, "2,2");
  const LayoutNetwork network = Network(true);
  std::mt19937 random(3);
  int64_t least_of_plans = 0, most_of_network = 0;
  for (const char* strategy : {"replicate", "einsum", "greedy"}) {
    const Assignment solved = SolvedBy(strategy);
    for (const uint32_t percent : {0, 1, 5, 20, 20, 50, 100}) {
      Assignment assignment = solved;
      for (size_t o = 0; o < assignment.ops.size(); ++o) {
        if (random() % 100 >= percent) continue;
        const std::span<const uint32_t> candidates = network.candidates_of(OpId(o));
        assignment.ops[o].candidate = candidates[random() % candidates.size()];
      }
      const std::vector<int64_t> held = HeldByPlan(assignment), counted = HeldByNetwork(network, assignment);
      for (size_t o = 0; o < held.size(); ++o)
        ASSERT_LE(counted[o], held[o]) << strategy << ", " << percent << " %, " << graph().ops[o].name;
      least_of_plans = *std::ranges::max_element(held);
      most_of_network = *std::ranges::max_element(counted);
    }
    EXPECT_GT(most_of_network, least_of_plans / 4) << strategy;  // it is no empty statement
  }
}

// Without boxing the network counts all but the rest of tensors of which slices are kept.
TEST_F(NetworkMemory, IsNearlyThePlansWhereNothingIsBoxed) {
  Pose(64, 32, "2,2");
  const Assignment assignment = SolvedBy("replicate");
  const std::vector<int64_t> held = HeldByPlan(assignment), counted = HeldByNetwork(Network(false), assignment);
  for (size_t o = 0; o < held.size(); ++o) {
    EXPECT_LE(counted[o], held[o]) << graph().ops[o].name;
    EXPECT_GE(counted[o], held[o] * 95 / 100) << graph().ops[o].name;
  }
}

// A weight that lies in parts and is gathered: to keep the copy for the backward pass, which no network counts, is
// dearer under a limit than to gather it again.
TEST_F(NetworkMemory, LeavesNoRoomForCopiesThatAreKept) {
  Pose(64, 32, "4");
  Assignment kept = SolvedBy("replicate");
  const auto refetch = std::ranges::find_if(
      graph().ops, [&](const Op& op) { return graph().type_of(op) == kRefetchOp && op.inputs[0].valid(); });
  ASSERT_NE(refetch, graph().ops.end());
  const OpId op(static_cast<size_t>(refetch - graph().ops.begin()));
  const NdSbp parts = *ParseNdSbp("S(0)");
  kept.sources[refetch->inputs[0].index()] = parts;
  Assignment again = kept;
  const std::vector<Candidate>& candidates = problem().candidates(op).candidates;
  const auto in_parts =
      std::ranges::find_if(candidates, [&](const Candidate& c) { return c.signature.inputs[0] == parts; });
  ASSERT_NE(in_parts, candidates.end());
  again.ops[op.index()].candidate = static_cast<uint32_t>(in_parts - candidates.begin());
  ASSERT_GT(EvaluatedPlan(problem(), again).total.seconds(), EvaluatedPlan(problem(), kept).total.seconds());
  const auto value = [&](bool relaxed, const Assignment& assignment) {
    const LayoutNetwork network = Network(relaxed);
    return Evaluate(network.network(), *network.Write(assignment)).value;
  };
  EXPECT_LT(value(false, again), value(false, kept));
  EXPECT_GT(value(true, again), value(true, kept));  // plans may, and a bound holds for them
}

}  // namespace
}  // namespace sbp
