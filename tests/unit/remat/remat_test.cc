#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/again.h"
#include "graph/builder.h"
#include "graph/held.h"
#include "graph/phases.h"
#include "remat/policy.h"
#include "remat/recompute.h"
#include "remat/segments.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const RuleSet& Rules() {
  static const RuleSet* rules = new RuleSet(RuleSet::Builtin().value());
  return *rules;
}

// Layers "net/h.N" of x -> Relu(Tanh(x w)) + x, nine ops each, and backward ops that read Tanh's and Relu's results,
// of the last layer first. `scoped`: the ops say where they are.
Graph Training(int layers, bool scoped) {
  GraphBuilder builder("training");
  const TensorType type = ParseTensorType("f32[4,4]").value();
  const auto name = [](int layer, const std::string& what) { return StrCat("l", layer, ".", what); };
  builder.AddInput("x", type);
  builder.AddParameter("w", type);
  std::string at = "x";
  for (int i = 0; i < layers; ++i) {
    const std::string scope = scoped ? StrCat("net/h.", i) : "";
    std::vector<std::string> chain = {name(i, "product"), name(i, "tanh"), name(i, "a"),    name(i, "b"),  name(i, "c"),
                                      name(i, "d"),       name(i, "e"),    name(i, "relu"), name(i, "sum")};
    for (const std::string& one : chain) builder.DescribeTensor(one, type);
    builder.AddOp("MatMul", chain[0], {at, "w"}, {chain[0]}, {}, scope);
    for (size_t k = 1; k + 2 < chain.size(); ++k) {
      builder.AddOp(k == 1 ? "Tanh" : "Exp", chain[k], {chain[k - 1]}, {chain[k]}, {}, scope);
    }
    builder.AddOp("Relu", chain[7], {chain[6]}, {chain[7]}, {}, scope);
    builder.AddOp("Add", chain[8], {chain[7], at}, {chain[8]}, {}, scope);
    at = chain[8];
  }
  std::string cotangent = at;
  for (int i = layers; i-- > 0;) {
    const std::string scope = scoped ? StrCat("backward/net/h.", i) : "backward";
    for (const std::string what : {"relu", "tanh"}) {
      const std::string made = StrCat("d/", name(i, what));
      builder.DescribeTensor(made, type);
      builder.AddOp("Mul", made, {cotangent, name(i, what)}, {made}, {}, scope);
      cotangent = made;
    }
  }
  builder.AddOutput(cotangent);
  return builder.Build("training").value();
}

// "NAME(OPERANDS)" of what reads or is a copy, in order.
std::vector<std::string> Copies(const Graph& graph) {
  std::vector<std::string> texts;
  for (const Op& op : graph.ops) {
    std::vector<std::string> operands;
    for (const TensorId id : op.inputs) operands.push_back(graph.tensor(id).name);
    if (PhaseOf(graph, op) == Phase::kBackward) texts.push_back(StrCat(op.name, "(", Join(operands, ","), ")"));
  }
  return texts;
}

Result<RematSummary> Apply(Graph& graph, const std::string& remat) {
  SBP_ASSIGN_OR_RETURN(const std::vector<RematEntry> entries, ParseRemat(remat));
  const std::vector<TensorId> needed(graph.outputs.begin(), graph.outputs.end());
  SBP_ASSIGN_OR_RETURN(RematSummary summary, Recompute(graph, needed, entries, Rules()));
  SBP_RETURN_IF_ERROR(Verify(graph, "test"));
  return summary;
}

TEST(RematTest, LightKeepsProductsAndCopiesStandBeforeTheirReaders) {
  Graph graph = Training(2, true);
  const RematSummary summary = Apply(graph, "none:1,light").value();
  EXPECT_EQ(summary.segments, 1);
  // Tanh's result takes no more than the product that would be kept for it: it is kept.
  EXPECT_EQ(summary.ops, 6);
  EXPECT_EQ(summary.kept_bytes_before - summary.kept_bytes, 4 * 4 * 4);
  EXPECT_THAT(
      Copies(graph),
      ElementsAre("again/l1.a(l1.tanh)", "again/l1.b(again/l1.a)", "again/l1.c(again/l1.b)", "again/l1.d(again/l1.c)",
                  "again/l1.e(again/l1.d)", "again/l1.relu(again/l1.e)", "d/l1.relu(l1.sum,again/l1.relu)",
                  "d/l1.tanh(d/l1.relu,l1.tanh)", "d/l0.relu(d/l1.tanh,l0.relu)", "d/l0.tanh(d/l0.relu,l0.tanh)"));
}

TEST(RematTest, FullBeginsAtTheBorderOfTheSegment) {
  Graph graph = Training(3, true);
  const RematSummary summary = Apply(graph, "full").value();
  EXPECT_EQ(summary.segments, 3);
  const std::vector<std::string> copies = Copies(graph);
  ASSERT_EQ(copies.size(), static_cast<size_t>(summary.ops) + 6);
  EXPECT_EQ(copies.back(), "d/l0.tanh(d/l0.relu,again/l0.tanh)");
  for (const std::string& copy : copies) EXPECT_EQ(copy.find("again/l0.sum"), std::string::npos) << copy;
  for (const Op& op : graph.ops) {
    if (IsAgain(graph, op)) EXPECT_THAT(graph.scope_of(op), HasSubstr("backward/again/net/h."));
  }
}

TEST(RematTest, AlternateKeepsEverySecondLinearLayer) {
  // Linear layers are a, d, e and f: b and c are products of activations.
  GraphBuilder builder("linear");
  const TensorType type = {DType::kF32, {4, 4}};
  builder.AddInput("x", type);
  builder.AddParameter("w", type);
  const std::vector<std::pair<std::string, std::string>> products = {{"a", "w"}, {"b", "a"}, {"c", "b"},
                                                                     {"d", "w"}, {"e", "w"}, {"f", "w"}};
  std::string at = "x";
  for (const auto& [name, other] : products) {
    builder.DescribeTensor(name, type);
    builder.AddOp("MatMul", name, {at, other}, {name}, {}, "net/h.0");
    at = name;
  }
  for (const auto& [name, other] : products) {
    builder.DescribeTensor("d/" + name, type);
    builder.AddOp("Mul", "d/" + name, {at, name}, {"d/" + name}, {}, "backward/net/h.0");
    at = "d/" + name;
  }
  builder.AddOutput(at);
  Graph graph = builder.Build("training").value();
  ASSERT_TRUE(Apply(graph, "h.0=alternate").ok());
  std::vector<std::string> again;
  for (const Op& op : graph.ops) {
    if (IsAgain(graph, op)) again.push_back(op.name);
  }
  EXPECT_THAT(again, ElementsAre("again/f", "again/d"));
}

// Of each op that says so, "NAME until NAME".
std::vector<std::string> Held(const Graph& graph) {
  std::vector<std::string> texts;
  for (const HeldResult& held : FindHeld(graph)) {
    texts.push_back(StrCat(graph.tensor(held.tensor).name, " until ", graph.op(held.until).name));
  }
  return texts;
}

TEST(RematTest, HeldProductsStayUntilTheBackwardPassOfTheirLayerIsOver) {
  Graph graph = Training(2, true);
  ASSERT_TRUE(Apply(graph, "light").ok());
  EXPECT_THAT(Held(graph), ElementsAre());
  graph = Training(2, true);
  ASSERT_TRUE(Apply(graph, "none:1,light+held").ok());
  // As the product is there anyway, tanh is computed again.
  EXPECT_THAT(Copies(graph), Contains("again/l1.tanh(l1.product)"));
  EXPECT_THAT(Held(graph), ElementsAre("l1.product until d/l1.tanh"));
  graph = Training(2, true);
  ASSERT_TRUE(Apply(graph, "full+held").ok());  // computes products again, too
  EXPECT_THAT(Held(graph), ElementsAre());
  graph = Training(1, true);
  ASSERT_TRUE(Apply(graph, "h.0=none+held").ok());  // all that is read
  EXPECT_THAT(Held(graph), ElementsAre("l0.tanh until d/l0.tanh", "l0.relu until d/l0.tanh", "l0.sum until d/l0.tanh"));
}

TEST(RematTest, FusedKeepsWhatProductsOfTheBackwardPassRead) {
  GraphBuilder builder("fused");
  const TensorType type = {DType::kF32, {4, 4}};
  builder.AddInput("x", type);
  builder.AddParameter("w", type);
  for (const char* name : {"a", "b", "c", "d/w", "d/b"}) builder.DescribeTensor(name, type);
  builder.AddOp("MatMul", "a", {"x", "w"}, {"a"}, {}, "net/h.0");
  builder.AddOp("Exp", "b", {"a"}, {"b"}, {}, "net/h.0");
  builder.AddOp("Tanh", "c", {"b"}, {"c"}, {}, "net/h.0");
  builder.AddOp("MatMul", "d/w", {"c", "w"}, {"d/w"}, {}, "backward/net/h.0");
  builder.AddOp("Sum", "d/b", {"a", "b", "d/w"}, {"d/b"}, {}, "backward/net/h.0");
  builder.AddOutput("d/b");
  const Graph before = builder.Build("training").value();
  Graph graph = before;
  ASSERT_TRUE(Apply(graph, "h.0=light").ok());
  EXPECT_THAT(Copies(graph), ElementsAre("again/b(a)", "again/c(again/b)", "d/w(again/c,w)", "d/b(a,again/b,d/w)"));
  graph = before;
  ASSERT_TRUE(Apply(graph, "h.0=light+fused").ok());
  EXPECT_THAT(Copies(graph), ElementsAre("d/w(c,w)", "again/b(a)", "d/b(a,again/b,d/w)"));
}

TEST(RematTest, TheLossIsASegmentWhereItIsNamed) {
  GraphBuilder builder("loss");
  const TensorType type = {DType::kF32, {4, 4}};
  builder.AddInput("x", type);
  for (const char* name : {"logits", "log_prob", "d/exp", "d/logits"}) builder.DescribeTensor(name, type);
  builder.AddOp("Tanh", "logits", {"x"}, {"logits"}, {}, "head");
  builder.AddOp("LogSoftmax", "log_prob", {"logits"}, {"log_prob"}, {}, "loss");
  builder.AddOp("Exp", "d/exp", {"log_prob"}, {"d/exp"}, {}, "backward/loss");
  builder.AddOp("Neg", "d/logits", {"d/exp"}, {"d/logits"}, {}, "backward/loss");
  builder.AddOutput("d/logits");
  Graph graph = builder.Build("training").value();
  ASSERT_TRUE(Apply(graph, "loss=none+held").ok());
  EXPECT_THAT(Held(graph), ElementsAre("log_prob until d/logits"));
  EXPECT_THAT(Apply(graph, "los=none").status().message(), HasSubstr("no module of the forward pass is named \"los\""));
}

// softmax(tanh(x w) tanh(x w)^T) tanh(x w), whose backward pass reads the softmax, its copy in another type and tanh.
Graph Attention() {
  GraphBuilder builder("attention");
  const TensorType type = ParseTensorType("f32[4,4]").value();
  builder.AddInput("x", type);
  builder.AddParameter("w", type);
  for (const char* name : {"product", "q", "k", "v", "scores", "softmax", "wide", "context", "d/v", "d/k", "d/q"})
    builder.DescribeTensor(name, type);
  const std::string scope = "net/h.0";
  builder.AddOp("MatMul", "product", {"x", "w"}, {"product"}, {}, scope);
  builder.AddOp("Tanh", "q", {"product"}, {"q"}, {}, scope);
  builder.AddOp("Exp", "k", {"q"}, {"k"}, {}, scope);
  builder.AddOp("Exp", "v", {"k"}, {"v"}, {}, scope);
  builder.AddOp("MatMul", "scores", {"q", "k"}, {"scores"}, {}, scope);
  builder.AddOp("Softmax", "softmax", {"scores"}, {"softmax"}, {}, scope);
  builder.AddOp("Abs", "wide", {"softmax"}, {"wide"}, {}, scope);
  builder.AddOp("MatMul", "context", {"wide", "v"}, {"context"}, {}, scope);
  builder.AddOp("MatMul", "d/v", {"wide", "context"}, {"d/v"}, {}, "backward/net/h.0");
  builder.AddOp("Mul", "d/k", {"d/v", "softmax"}, {"d/k"}, {}, "backward/net/h.0");
  builder.AddOp("Mul", "d/q", {"d/k", "v"}, {"d/q"}, {}, "backward/net/h.0");
  builder.AddOutput("d/q");
  return builder.Build("attention").value();
}

TEST(RematTest, LightLeavesAttentionAlone) {
  Graph light = Attention(), selective = Attention();
  ASSERT_TRUE(Apply(light, "h.0=light").ok());
  ASSERT_TRUE(Apply(selective, "h.0=selective").ok());
  const auto has = [](const Graph& graph, const std::string& name) {
    return std::ranges::any_of(graph.ops, [&](const Op& op) { return op.name == name; });
  };
  for (const char* name : {"again/scores", "again/softmax", "again/wide"}) {
    EXPECT_FALSE(has(light, name)) << name;
    EXPECT_TRUE(has(selective, name)) << name;
  }
}

TEST(RematTest, ScopesGoBeforeLayers) {
  Graph graph = Training(3, true);
  EXPECT_EQ(Apply(graph, "full,h.1=none").value().segments, 2);
  graph = Training(3, true);
  EXPECT_EQ(Apply(graph, "net/h.2=full").value().segments, 1);
  graph = Training(3, true);
  const Result<RematSummary> unknown = Apply(graph, "hh.1=full");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(), HasSubstr("did you mean \"h.1\""));
}

TEST(RematTest, StretchesWithoutScopes) {
  const Graph graph = Training(3, false);
  const Segments layers = FindLayers(graph);
  ASSERT_EQ(layers.all.size(), 3U);
  EXPECT_EQ(layers.all[2].name, "stretch.2");
  // The first ends before its sum: x depends on no parameter. The second one's sum alone leads to the third.
  EXPECT_EQ(layers.of_op[7], 0U);
  EXPECT_EQ(layers.of_op[8], 1U);
  EXPECT_EQ(layers.of_op[17], 1U);
  EXPECT_EQ(layers.of_op[18], 2U);
  EXPECT_EQ(layers.of_op.back(), Segments::kNone);
}

TEST(RematTest, NoneLeavesTheGraph) {
  Graph graph = Training(2, true);
  const std::string before = Dump(graph);
  EXPECT_EQ(Apply(graph, "none").value().ops, 0);
  EXPECT_EQ(Dump(graph), before);
}

TEST(RematTest, Parses) {
  const std::vector<RematEntry> entries = ParseRemat("full:8,a/b=light,selective").value();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].count, 8);
  EXPECT_EQ(entries[1].scope, "a/b");
  EXPECT_EQ(entries[2].policy, RematPolicy::kSelective);
  for (const char* bad : {"ful", "full,light", "full:-1", "full:x", "=full", "auto", ""}) {
    EXPECT_FALSE(ParseRemat(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace sbp
