// Fast against slow: each criterion, written down once more as plainly as the definitions say it, over random graphs.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/checked_math.h"
#include "base/text.h"
#include "strategy/strategy.h"
#include "support/listed_problem.h"

namespace sbp {
namespace {

struct Question {
  const Problem& problem;
  OpId op;
  std::vector<NdSbp> produced;
  std::vector<uint32_t> allowed;
  const CandidateSignature& signature(uint32_t c) const { return problem.candidates(op).candidates[c].signature; }
  TensorId input(size_t i) const { return problem.graph->op(op).inputs[i]; }
  TensorId output(size_t r) const { return problem.graph->op(op).outputs[r]; }
};

uint32_t SlowOrderValue(const Question& q) {
  std::map<int, std::vector<uint32_t>> by_value;
  for (uint32_t c : q.allowed) {
    int value = 0;
    for (int axis = 0; axis < q.problem.mesh.num_axes(); ++axis) {
      for (size_t i = 0; i < q.produced.size(); ++i) {
        const int batch = q.problem.batch_axis[q.input(i).index()];
        const Sbp sbp = q.signature(c).inputs[i][axis], hint = q.produced[i][axis];
        if (batch >= 0 && sbp == Sbp::Split(batch)) value -= 1;
        if (batch < 0 && !hint.is_split() && !sbp.is_split()) value -= 2;
        if (sbp == hint) value -= 3;
      }
      for (size_t r = 0; r < q.signature(c).outputs.size(); ++r) {
        const int batch = q.problem.batch_axis[q.output(r).index()];
        if (batch >= 0 && q.signature(c).outputs[r][axis] == Sbp::Split(batch)) value -= 1;
      }
    }
    by_value[value].push_back(c);
  }
  return by_value.begin()->second.front();
}

double SlowBytesPrice(const Question& q, uint32_t c) {
  double sum = 0;
  for (size_t i = 0; i < q.produced.size(); ++i) {
    sum += BytesPrice(q.problem.type(q.input(i)), q.produced[i], q.signature(c).inputs[i], q.problem.mesh);
  }
  return sum;
}

uint32_t SlowBytes(const Question& q) {
  uint32_t best = q.allowed[0];
  for (uint32_t c : q.allowed) {
    if (SlowBytesPrice(q, c) < SlowBytesPrice(q, best)) best = c;
  }
  return best;
}

uint32_t SlowTime(const Question& q) {
  const auto price = [&](uint32_t c) {
    double sum = 0;
    for (size_t i = 0; i < q.produced.size(); ++i) {
      const BoxingPath& path =
          q.problem.boxing->Path(q.problem.type(q.input(i)), q.produced[i], q.signature(c).inputs[i]);
      sum += path.reachable ? path.seconds : std::numeric_limits<double>::infinity();
    }
    return sum + q.problem.ComputeSeconds(q.op, c);
  };
  uint32_t best = q.allowed[0];
  for (uint32_t c : q.allowed) {
    if (price(c) < price(best)) best = c;
  }
  return best;
}

int KeptInputs(const Question& q, uint32_t c) {
  int kept = 0;
  for (size_t i = 0; i < q.produced.size(); ++i) kept += q.signature(c).inputs[i] == q.produced[i] ? 1 : 0;
  return kept;
}

uint32_t SlowCopyCost(const Question& q) {
  const int inputs = static_cast<int>(q.produced.size());
  if (q.problem.mesh.num_axes() > 1) {
    for (uint32_t c : q.allowed) {
      if (KeptInputs(q, c) == inputs) return c;
    }
    uint32_t best = q.allowed[0];
    for (uint32_t c : q.allowed) {
      if (SlowBytesPrice(q, c) <= SlowBytesPrice(q, best)) best = c;
    }
    return best;
  }
  const auto bytes = [&](uint32_t c) {
    int64_t sum = 0;
    for (size_t i = 0; i < q.produced.size(); ++i) {
      const Sbp from = q.produced[i][0], to = q.signature(c).inputs[i][0];
      int64_t cost = q.problem.type(q.input(i)).num_bytes();
      if (from == to) {
        cost = 0;
      } else if (to.is_partial()) {
        cost = kInt64Max;
      } else if (from.is_broadcast()) {
        cost = 2147483647;
      }
      sum = SaturatingAdd(sum, cost);
    }
    return sum;
  };
  uint32_t best = q.allowed[0];
  for (uint32_t c : q.allowed) {
    if (KeptInputs(q, c) > KeptInputs(q, best) || (KeptInputs(q, c) == KeptInputs(q, best) && bytes(c) < bytes(best))) {
      best = c;
    }
  }
  return best;
}

// A random DAG of square tensors; signatures drawn from what such ops offer. All sizes can be split.
ListedGraph RandomGraph(std::mt19937& random) {
  const std::vector<std::vector<std::string>> binary = {
      {"S(0) B -> S(0)", "B S(1) -> S(1)", "S(1) S(0) -> P", "P B -> P", "B P -> P", "B B -> B"},
      {"S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "P P -> P", "B B -> B"},
      {"S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "P B -> P", "B P -> P", "B B -> B"}};
  const std::vector<std::vector<std::string>> unary = {
      {"S(0) -> S(0)", "S(1) -> S(1)", "B -> B"}, {"S(0) -> S(1)", "S(1) -> S(0)", "P -> P", "B -> B"}, {"B -> B"}};
  const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  const int64_t size = 8 * static_cast<int64_t>(1 + pick(3));
  ListedGraph graph;
  std::vector<std::string> tensors;
  const auto add_tensor = [&](const std::string& name) {
    graph.shapes[name] = {size, size};
    if (pick(2) == 0) graph.batch[name] = static_cast<int>(pick(2));
    tensors.push_back(name);
  };
  for (const char* name : {"x", "y"}) {
    graph.inputs.emplace_back(name);
    add_tensor(name);
  }
  for (const char* name : {"v", "w"}) {
    graph.parameters.emplace_back(name);
    add_tensor(name);
  }
  for (size_t o = 0; o < 12; ++o) {
    ListedOp op{StrCat("op", o), {}, {StrCat("t", o)}, {}};
    const bool two = pick(3) > 0;
    op.signatures = two ? binary[pick(binary.size())] : unary[pick(unary.size())];
    for (int i = 0; i < (two ? 2 : 1); ++i)
      op.inputs.push_back(tensors[tensors.size() - 1 - pick(std::min<size_t>(tensors.size(), 5))]);
    graph.ops.push_back(op);
    add_tensor(op.outputs[0]);
  }
  return graph;
}

using SlowChoice = uint32_t (*)(const Question&);

// The layouts that the walk ends in, tensor by tensor.
std::vector<std::string> SlowWalk(const ListedProblem& made, SlowChoice choose) {
  std::vector<NdSbp> layouts = InitialSourceLayouts(made.problem);
  std::vector<std::string> signatures;
  for (size_t o = 0; o < made.graph->ops.size(); ++o) {
    Question question{made.problem, OpId(o), {}, {}};
    for (TensorId input : made.graph->ops[o].inputs) question.produced.push_back(layouts[input.index()]);
    for (uint32_t c = 0; c < made.problem.candidates(OpId(o)).candidates.size(); ++c) question.allowed.push_back(c);
    const Signature& chosen = question.signature(choose(question));
    for (size_t r = 0; r < chosen.outputs.size(); ++r) layouts[question.output(r).index()] = chosen.outputs[r];
    signatures.push_back(ToString(chosen));
  }
  return signatures;
}

std::vector<std::string> FastWalk(const ListedProblem& made, const std::string& criterion) {
  StrategyOptions options;
  options.criterion = criterion;
  const Result<Assignment> assignment = (*FindStrategy("greedy"))->solve(made.problem, options);
  EXPECT_TRUE(assignment.ok());
  std::vector<std::string> signatures;
  for (size_t o = 0; o < assignment->ops.size(); ++o) {
    signatures.push_back(ToString(made.problem.candidates(OpId(o)).candidates[assignment->ops[o].candidate].signature));
  }
  return signatures;
}

TEST(Greedy, EqualsThePlainDefinitionOnRandomGraphs) {
  const std::vector<std::pair<std::string, SlowChoice>> rows = {
      {"order-value", SlowOrderValue}, {"copy-cost", SlowCopyCost}, {"bytes", SlowBytes}, {"time", SlowTime}};
  const std::vector<std::string> meshes = {"2", "4", "2,2", "2,2,2"};
  std::mt19937 random(20261121);
  for (int round = 0; round < 60; ++round) {
    const Mesh mesh = *ParseMesh(meshes[round % meshes.size()]);
    const ListedProblem made = MakeListedProblem(RandomGraph(random), mesh);
    for (const auto& [criterion, slow] : rows) {
      EXPECT_EQ(FastWalk(made, criterion), SlowWalk(made, slow))
          << criterion << " on " << ToString(mesh) << ", round " << round;
    }
  }
}

TEST(Greedy, InputsStartOnTheOutermostAxisAboveOne) {
  ListedGraph graph;
  graph.shapes = {{"x", {8, 8}}, {"small", {3, 8}}, {"scalar", {}}, {"w", {8, 8}}, {"y", {8, 8}}};
  graph.inputs = {"x", "small", "scalar"};
  graph.parameters = {"w"};
  graph.ops = {{"op", {"x"}, {"y"}, {"S(0) -> S(0)", "B -> B"}}};
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("one=1,data=4,model=2"));
  const std::vector<NdSbp> layouts = InitialSourceLayouts(made.problem);
  const auto layout = [&](const char* name) { return ToString(layouts[made.tensor(name).index()]); };
  EXPECT_EQ(layout("x"), "(B, S(0), B)");
  EXPECT_EQ(layout("small"), "(B, B, B)");
  EXPECT_EQ(layout("scalar"), "(B, B, B)");
  EXPECT_EQ(layout("w"), "(B, B, B)");
}

TEST(Greedy, PinsRestrictAndAContradictionListsTheSignatures) {
  ListedGraph graph;
  graph.shapes = {{"x", {8, 8}}, {"y", {8, 8}}};
  graph.inputs = {"x"};
  graph.ops = {{"op", {"x"}, {"y"}, {"S(0) -> S(0)", "S(1) -> S(1)", "B -> B"}}};
  graph.pins = {{"y", NdSbp{Sbp::Split(1)}}};
  EXPECT_EQ(FastWalk(MakeListedProblem(graph, *ParseMesh("2")), "bytes"), std::vector<std::string>{"S(1) -> S(1)"});
  graph.pins = {{"y", NdSbp{Sbp::Partial()}}};
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("2"));
  const Result<Assignment> none = (*FindStrategy("greedy"))->solve(made.problem, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::kNoPlan);
  EXPECT_NE(none.status().message().find("S(1) -> S(1)"), std::string::npos) << none.status().message();
}

}  // namespace
}  // namespace sbp
