#include "problem/problem.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/builder.h"
#include "problem/classes.h"

namespace sbp {
namespace {

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// Two equal layers and a third of another width: x w0 -> relu -> w1 -> relu -> w2.
Graph ThreeLayers() {
  GraphBuilder builder("layers");
  builder.AddInput("x", F32({16, 32}));
  builder.AddParameter("w0", F32({32, 32}));
  builder.AddParameter("w1", F32({32, 32}));
  builder.AddParameter("w2", F32({32, 64}));
  std::string last = "x";
  for (int layer = 0; layer < 3; ++layer) {
    const std::string product = StrCat("h", layer), active = StrCat("a", layer);
    builder.AddOp("MatMul", StrCat("mm", layer), {last, StrCat("w", layer)}, {product});
    builder.AddOp("Relu", StrCat("relu", layer), {product}, {active});
    for (const std::string& name : {product, active}) builder.DescribeTensor(name, F32({16, layer == 2 ? 64 : 32}));
    last = active;
  }
  builder.AddOutput(last);
  return *builder.Build("test");
}

class ProblemTest : public testing::Test {
 protected:
  Result<Problem> Build(const Graph& graph, const char* mesh, Pins pins = {}, ProblemOptions options = {}) {
    return BuildProblem(graph, rules_, *ParseMesh(mesh), *FindPreset("8xH100"), std::move(pins), options);
  }
  RuleSet rules_ = *RuleSet::Builtin();
};

TEST_F(ProblemTest, EqualOpsShareAClass) {
  const Graph graph = ThreeLayers();
  EXPECT_EQ(ClassifyOps(graph, rules_).class_of, (std::vector<uint32_t>{0, 1, 0, 1, 2, 3}));
  const auto problem = Build(graph, "4");
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  EXPECT_EQ(problem->classes.size(), 4u);
}

TEST_F(ProblemTest, MatMulOffersTheSixInOrder) {
  const Graph graph = ThreeLayers();
  const auto problem = Build(graph, "4");
  ASSERT_TRUE(problem.ok());
  std::vector<std::string> signatures;
  for (const Candidate& candidate : problem->candidates(OpId(0)).candidates)
    signatures.push_back(ToString(candidate.signature));
  EXPECT_EQ(signatures, (std::vector<std::string>{"S(0), B -> S(0)", "B, S(1) -> S(1)", "S(1), S(0) -> P(sum)",
                                                  "P(sum), B -> P(sum)", "B, P(sum) -> P(sum)", "B, B -> B"}));
}

// A list that was cut still obeys pins and given signatures beyond the cut.
TEST_F(ProblemTest, PinsReachWhatACutListLacks) {
  const Graph graph = ThreeLayers();
  ProblemOptions options;
  options.candidates.max_candidates = 2;
  const Signature beyond = *ParseSignature("B, P(sum) -> P(sum)", 1);
  auto problem = Build(graph, "4", {}, options);
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->candidates(OpId(0)).candidates.size(), 2u);
  EXPECT_FALSE(FindCandidate(*problem, OpId(0), beyond, "the test").ok());
  EXPECT_FALSE(problem->warnings.empty());
  Pins pins;
  pins.signatures[OpId(0)] = {beyond, "mm0: as the test says"};
  problem = Build(graph, "4", pins, options);
  ASSERT_TRUE(problem.ok());
  const auto allowed = AllowedCandidates(*problem, OpId(0));
  ASSERT_TRUE(allowed.ok()) << allowed.status().message();
  ASSERT_EQ(allowed->size(), 1u);
  EXPECT_EQ(ToString(problem->candidates(OpId(0)).candidates[(*allowed)[0]].signature), ToString(beyond));
  EXPECT_NE(problem->class_of[0], problem->class_of[2]);  // the equal op has no pin
  options.given = [&](OpId op) { return op == OpId(2) ? &beyond : nullptr; };
  problem = Build(graph, "4", {}, options);
  ASSERT_TRUE(problem.ok());
  EXPECT_TRUE(FindCandidate(*problem, OpId(2), beyond, "the test").ok());
  EXPECT_FALSE(FindCandidate(*problem, OpId(0), beyond, "the test").ok());
  EXPECT_TRUE(problem->candidates(OpId(2)).candidates.back().signature.outputs[0].is_broadcast());
}

TEST_F(ProblemTest, BatchAxesFollowDataAndNotWeights) {
  const Graph graph = ThreeLayers();
  const auto problem = Build(graph, "4");
  ASSERT_TRUE(problem.ok());
  const NameIndex index(graph);
  const auto batch = [&](const char* name) { return problem->batch_axis[index.tensor(name).index()]; };
  EXPECT_EQ(batch("x"), 0);
  EXPECT_EQ(batch("a2"), 0);
  EXPECT_EQ(batch("w0"), -1);
}

TEST_F(ProblemTest, OneDeviceOffersTheDocumentedSignatureFirst) {
  const Graph graph = ThreeLayers();
  const auto problem = Build(graph, "x=1,y=1");
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(ToString(problem->candidates(OpId(0)).candidates[0].signature),
            "(S(0), S(0)), (S(0), S(0)) -> (S(0), S(0))");
}

TEST_F(ProblemTest, AnImpossiblePinOfAnInputIsNoPlan) {
  const Graph graph = ThreeLayers();
  Pins pins;
  pins.tensors[NameIndex(graph).tensor("x")] = {NdSbp{Sbp::Split(3)}, "x=S(3)"};
  const auto problem = Build(graph, "4", pins);
  ASSERT_FALSE(problem.ok());
  EXPECT_EQ(problem.status().code(), Code::kNoPlan);
  EXPECT_NE(problem.status().message().find("x=S(3)"), std::string::npos);
}

TEST_F(ProblemTest, AnImpossiblePinOfHowATensorLiesIsNoPlan) {
  const Graph graph = ThreeLayers();
  Pins pins;
  pins.lies[NameIndex(graph).tensor("h0")] = {NdSbp{Sbp::Split(3)}, "h0=S(3)"};
  const auto problem = Build(graph, "4", pins);
  ASSERT_FALSE(problem.ok());
  EXPECT_EQ(problem.status().code(), Code::kNoPlan);
  EXPECT_NE(problem.status().message().find("h0=S(3)"), std::string::npos);
}

TEST_F(ProblemTest, DemandsBesideReaders) {
  Graph graph = ThreeLayers();
  const TensorId y = graph.outputs.at(0), h0 = NameIndex(graph).tensor("h0"), x = graph.inputs.at(0);
  Pins pins;
  pins.lies[h0] = {NdSbp{Sbp::Split(1)}, "h0=S(1)"};
  const auto sharded = Build(graph, "4", pins);
  ASSERT_TRUE(sharded.ok());
  EXPECT_EQ(sharded->demands.end(y).kind, EndRule::Kind::kNotPartial);
  EXPECT_EQ(sharded->demands.end(h0).kind, EndRule::Kind::kNone);
  ASSERT_NE(sharded->demands.standing(h0), nullptr);
  EXPECT_EQ(sharded->demands.standing(y), nullptr);
  EXPECT_FALSE(IsPinned(*sharded, graph.tensor(h0).producer));  // its candidates stay free
  EXPECT_TRUE(WritesStanding(*sharded, graph.tensor(h0).producer));
  EXPECT_EQ(Build(graph, "4", {}, {.outputs = OutputPolicy::kWhole})->demands.end(y).kind, EndRule::Kind::kWhole);
  EXPECT_EQ(Build(graph, "4", {}, {.outputs = OutputPolicy::kAny})->demands.end(y).kind, EndRule::Kind::kNone);
  EXPECT_EQ(Build(graph, "1")->demands.end(y).kind, EndRule::Kind::kNone);
  // A tie comes before a pin, a pin before the policy.
  pins.lies[y] = {NdSbp{Sbp::Split(0)}, "y=S(0)"};
  EXPECT_EQ(Build(graph, "4", pins)->demands.end(y).kind, EndRule::Kind::kNone);
  graph.ties = {{y, x}};
  EXPECT_EQ(Build(graph, "4", pins)->demands.end(y).kind, EndRule::Kind::kTied);
  EXPECT_EQ(Build(graph, "4", pins)->demands.end(y).tied, x);
  graph.ties.clear();
  pins.lies[y] = {NdSbp{Sbp::Partial()}, "y=P"};
  const auto partial = Build(graph, "4", pins);
  ASSERT_FALSE(partial.ok());
  EXPECT_EQ(partial.status().code(), Code::kNoPlan);
  EXPECT_NE(partial.status().message().find("a2<-P(sum)"), std::string::npos) << partial.status().message();
  EXPECT_TRUE(Build(graph, "4", pins, {.outputs = OutputPolicy::kAny}).ok());
}

TEST_F(ProblemTest, TheCheapestEndIsTheLeastOfAllThatAreNotPartial) {
  const TensorType type{DType::kF32, {512, 96}};
  for (const char* mesh_text : {"4", "2,4", "2,2,2"}) {
    const Mesh mesh = *ParseMesh(mesh_text);
    BoxingTable boxing(mesh, *FindPreset("8xH100"));
    const NdSbp from(mesh.num_axes(), Sbp::Partial());
    const CheapestEnd end = FindCheapestEnd(type, from, boxing);
    EXPECT_FALSE(end.layout.has_partial());
    EXPECT_EQ(boxing.Path(type, from, end.layout).seconds, end.seconds);
    const Sbp choices[] = {Sbp::Broadcast(), Sbp::Split(0), Sbp::Split(1)};
    int count = 1;
    for (int axis = 0; axis < mesh.num_axes(); ++axis) count *= 3;
    for (int code = 0; code < count; ++code) {
      NdSbp layout(mesh.num_axes());
      for (int axis = 0, rest = code; axis < mesh.num_axes(); ++axis, rest /= 3) layout[axis] = choices[rest % 3];
      const BoxingPath& path = boxing.Path(type, from, layout);
      if (!path.reachable) continue;
      EXPECT_GE(path.seconds, end.seconds) << ToString(layout);
    }
  }
  BoxingTable boxing(*ParseMesh("4"), *FindPreset("8xH100"));
  EXPECT_EQ(FindCheapestEnd(type, NdSbp{Sbp::Split(1)}, boxing).seconds, 0);
  EXPECT_EQ(FindCheapestEnd({DType::kF32, {}}, NdSbp{Sbp::Partial()}, boxing).layout, NdSbp{Sbp::Broadcast()});
}

TEST_F(ProblemTest, AnOpWithoutARuleIsWholeOrAnError) {
  GraphBuilder builder("unknown");
  builder.AddInput("x", F32({8, 8}));
  builder.AddOp("acme::Mystery", "m", {"x"}, {"y"});
  builder.DescribeTensor("y", F32({8, 8}));
  builder.AddOutput("y");
  const Graph graph = *builder.Build("test");
  const auto lenient = Build(graph, "2");
  ASSERT_TRUE(lenient.ok());
  EXPECT_EQ(lenient->candidates(OpId(0)).candidates.size(), 1u);
  const auto strict = Build(graph, "2", {}, {.strict = true});
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.status().code(), Code::kBadInput);
  EXPECT_NE(strict.status().message().find("acme::Mystery"), std::string::npos);
}

TEST_F(ProblemTest, PinsRestrictCandidates) {
  const Graph graph = ThreeLayers();
  Pins pins;
  const NdSbp s1{Sbp::Split(1)}, p{Sbp::Partial()};
  pins.tensors[NameIndex(graph).tensor("h0")] = {s1, "h0=S(1)"};
  pins.uses[UseKey(OpId(2), 0)] = {p, "mm1.a=P"};
  const auto problem = Build(graph, "4", pins);
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(*AllowedCandidates(*problem, OpId(0)), std::vector<uint32_t>{1});
  EXPECT_EQ(*AllowedCandidates(*problem, OpId(2)), std::vector<uint32_t>{3});
  EXPECT_TRUE(IsPinned(*problem, OpId(0)));
  EXPECT_FALSE(IsPinned(*problem, OpId(1)));
}

TEST_F(ProblemTest, SplittingTheWorkTakesLessTime) {
  const Graph graph = ThreeLayers();
  const auto problem = Build(graph, "4");
  ASSERT_TRUE(problem.ok());
  EXPECT_LT(problem->ComputeSeconds(OpId(0), 0), problem->ComputeSeconds(OpId(0), 5));
}

}  // namespace
}  // namespace sbp
