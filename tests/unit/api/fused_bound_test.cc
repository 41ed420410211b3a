// The bound of fused prices against all plans of small graphs whose kernels plans may cut, and against plans drawn at
// random of training steps, computed again in parts too.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "cluster/cluster.h"
#include "fold/resolve.h"
#include "grad/grad.h"
#include "graph/builder.h"
#include "problem/problem.h"
#include "strategy/all_strategies.h"
#include "strategy/evaluate.h"
#include "support/every_plan.h"

namespace sbp {
namespace {

const RuleSet& KnownRules() {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  return *rules;
}

// Chains with skips: light ops, rows, moves and products of one shape, so that any may follow any.
Graph RandomGraph(std::mt19937& random, int num_ops, int64_t size) {
  GraphBuilder builder("random");
  const TensorType type{DType::kF32, {size, size}};
  builder.AddInput("t0", type);
  for (int o = 0; o < num_ops; ++o) {
    const std::string before = StrCat("t", o), any = StrCat("t", random() % (o + 1)), after = StrCat("t", o + 1);
    const char* const ops[] = {"Relu", "Gelu", "Softmax", "Transpose", "Add", "MatMul"};
    const std::string_view op = ops[random() % 6];
    Attributes attributes;
    if (op == "Transpose") attributes.Set("perm", std::vector<int64_t>{1, 0});
    const bool of_two = op == "Add" || op == "MatMul";
    builder.AddOp(op, StrCat("op", o), of_two ? std::vector{before, any} : std::vector{before}, {after}, attributes);
  }
  builder.AddOutput(StrCat("t", num_ops));
  Graph graph = *builder.Build("test");
  graph.opsets[""] = 21;
  return Resolve(std::move(graph), KnownRules(), {})->graph;
}

Cluster ClusterFor(std::mt19937& random) {
  Cluster cluster = *FindPreset("8xH100");
  cluster.execution = Execution::kFused;
  cluster.device.epilogue = random() % 2 == 0;
  // So slow that what is read and written counts, not launches and latencies alone.
  cluster.device.memory_bandwidth.value = 1e10;
  return cluster;
}

double SecondsOf(const Problem& problem, const Assignment& assignment) {
  return EvaluatedPlan(problem, assignment).total.seconds();
}

double LeastOfAll(const Problem& problem) {
  double least = INFINITY;
  const std::vector<TensorId> input = {problem.graph->inputs[0]};
  ForEveryAssignment(problem, input,
                     [&](const Assignment& assignment) { least = std::min(least, SecondsOf(problem, assignment)); });
  return least;
}

void CompareWithBruteForce(const char* mesh, int num_ops, int count, int64_t size) {
  std::mt19937 random(11);
  int cut_groups = 0;
  for (int i = 0; i < count; ++i) {
    const Graph graph = RandomGraph(random, num_ops, size);
    ProblemOptions options;
    options.outputs = OutputPolicy::kAny;
    const Result<Problem> problem =
        BuildProblem(graph, KnownRules(), *ParseMesh(mesh), ClusterFor(random), {}, options);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    cut_groups += static_cast<int>(problem->fusion->groups.groups.size());
    const double least = LeastOfAll(*problem);
    StrategyOptions strategy;
    strategy.values["gap"] = 0.0;
    const Result<Assignment> found = OptimalStrategy().solve(*problem, strategy);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_LE(found->lower_bound_seconds, least * (1 + 1e-9)) << mesh << " graph " << i;
    EXPECT_NEAR(SecondsOf(*problem, *found), least, least * 1e-9) << mesh << " graph " << i;
  }
  EXPECT_GT(cut_groups, count / 2);
}

TEST(FusedBound, EqualsBruteForceOnOneAxis) { CompareWithBruteForce("4", 4, 12, 256); }
TEST(FusedBound, EqualsBruteForceOnTwoAxes) { CompareWithBruteForce("2,2", 2, 6, 256); }

TEST(FusedBound, HoldsForRandomPlansOfTrainingSteps) {
  std::mt19937 random(5);
  for (const char* remat : {"", "light", "selective", "full"}) {
    GradRequest request;
    const Graph forward = RandomGraph(random, 12, 256);
    request.loss = "mean:t12";
    request.wrt_inputs = {"t0"};
    request.remat = remat;
    const Result<GradGraph> made = MakeGradGraph(forward, KnownRules(), request);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->remat.ops > 0, *remat != '\0') << remat;
    const Result<Problem> problem = BuildProblem(made->graph, KnownRules(), *ParseMesh("4"), ClusterFor(random), {});
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    const Result<Assignment> best = OptimalStrategy().solve(*problem, {});
    ASSERT_TRUE(best.ok()) << best.status().message();
    EXPECT_LE(best->lower_bound_seconds, SecondsOf(*problem, *best) * (1 + 1e-9)) << remat;
    // Away from the best plan by more and more: far from it bounds hold easily.
    for (int i = 0; i < 300; ++i) {
      Assignment other = *best;
      for (int change = 0; change <= i / 20; ++change) {
        const size_t o = random() % problem->num_ops();
        other.ops[o].candidate = random() % problem->candidates(OpId(o)).candidates.size();
      }
      EXPECT_LE(best->lower_bound_seconds, SecondsOf(*problem, other) * (1 + 1e-9)) << remat << ", plan " << i;
    }
  }
}

}  // namespace
}  // namespace sbp
