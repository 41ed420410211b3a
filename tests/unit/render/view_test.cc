#include "render/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/text.h"
#include "graph/builder.h"
#include "render/dot.h"
#include "render/facts.h"
#include "unit/plans/transformer.h"

namespace sbp {
namespace {

using sbp::testing::BareTransformer;
using sbp::testing::TransformerPlan;
using ::testing::Contains;
using ::testing::HasSubstr;

View Make(const Plan& plan, const RenderOptions& options = {}) {
  Result<View> view = MakeView(plan, options);
  EXPECT_TRUE(view.ok()) << view.status().message();
  return view.ok() ? *std::move(view) : View();
}

// Groups by nesting, then "title" of each node and "from -> to" of each edge: the canonical text of a view.
std::string Dump(const View& view) {
  std::string out;
  for (size_t g = 1; g < view.groups.size(); ++g) {
    const ViewGroup& group = view.groups[g];
    out +=
        StrCat("group ", group.label, " in ", group.parent, group.copies > 1 ? StrCat(" x", group.copies) : "", "\n");
  }
  for (const ViewNode& node : view.nodes) {
    out += StrCat("node ", node.title, " in ", node.group, node.lines.empty() ? "" : " | " + node.lines[0], "\n");
  }
  for (const ViewEdge& edge : view.edges) {
    out += StrCat("edge ", view.nodes[edge.from].title, " -> ", view.nodes[edge.to].title, " ", edge.label, "\n");
  }
  return out;
}

size_t CountKind(const View& view, ViewNode::Kind kind) {
  return static_cast<size_t>(
      std::count_if(view.nodes.begin(), view.nodes.end(), [&](const ViewNode& n) { return n.kind == kind; }));
}

// Every edge and every group refers to something, and nothing is drawn twice.
void ExpectSound(const View& view) {
  for (const ViewEdge& edge : view.edges) {
    ASSERT_LT(edge.from, view.nodes.size());
    ASSERT_LT(edge.to, view.nodes.size());
    EXPECT_NE(edge.from, edge.to);
  }
  for (const ViewNode& node : view.nodes) ASSERT_LT(static_cast<size_t>(node.group), view.groups.size());
  for (size_t g = 1; g < view.groups.size(); ++g) ASSERT_GE(view.groups[g].parent, 0);
}

TEST(View, RepeatedLayersFoldToOne) {
  const View view = Make(TransformerPlan({.layers = 32}));
  ExpectSound(view);
  EXPECT_EQ(CountKind(view, ViewNode::Kind::kOp), 3u + 16u);  // embed, norm, head and one layer
  EXPECT_THAT(Dump(view), HasSubstr("group layers.0 .. layers.31 in 0 x32"));
}

TEST(View, ADifferentDecisionIsNotFolded) {
  const std::string dump = Dump(Make(TransformerPlan({.layers = 8, .odd_layer = 3})));
  EXPECT_THAT(dump, HasSubstr("group layers.0 .. layers.2 in 0 x3"));
  EXPECT_THAT(dump, HasSubstr("group layers.3 in 0\n"));
  EXPECT_THAT(dump, HasSubstr("group layers.4 .. layers.7 in 0 x4"));
}

TEST(View, FlatNamesFoldByWindows) {
  const View view = Make(TransformerPlan({.layers = 32, .scopes = false}));
  ExpectSound(view);
  EXPECT_LT(view.nodes.size(), 40u);
  EXPECT_TRUE(std::any_of(view.groups.begin(), view.groups.end(), [](const ViewGroup& g) { return g.copies >= 31; }));
}

TEST(View, ExpandOpensOneLayerOrAll) {
  const Plan plan = TransformerPlan({.layers = 6});
  const View folded = Make(plan), all = Make(plan, {.expand = {"*"}}), one = Make(plan, {.expand = {"layers.4"}});
  EXPECT_EQ(CountKind(folded, ViewNode::Kind::kCollective), 2u);
  EXPECT_EQ(CountKind(all, ViewNode::Kind::kCollective), 12u);
  EXPECT_EQ(CountKind(all, ViewNode::Kind::kOp), plan.graph.ops.size());
  EXPECT_THAT(Dump(one), HasSubstr("group layers.4 in"));
  ExpectSound(all);
  ExpectSound(one);
}

TEST(View, AnUnknownScopeNamesTheNearest) {
  const Result<View> view = MakeView(TransformerPlan(), {.expand = {"model/layer.2"}});
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.status().code(), Code::kBadInput);
  EXPECT_THAT(view.status().message(), HasSubstr("did you mean"));
}

TEST(View, CollectivesStandBetweenProducerAndReader) {
  const View view = Make(TransformerPlan({.layers = 1}));
  const std::string dump = Dump(view);
  EXPECT_THAT(dump, HasSubstr("node all-reduce over model in 1 | (S(0), P(sum)) → (S(0), B)\n"));
  EXPECT_THAT(dump, HasSubstr("edge MatMul -> all-reduce over model (S(0), P(sum))\n"));
  EXPECT_THAT(dump, HasSubstr("edge all-reduce over model -> Add (S(0), B)\n"));
  EXPECT_THAT(dump, ::testing::Not(HasSubstr("edge MatMul -> Add")));
}

TEST(View, ASmallBudgetLeavesSummaries) {
  const Plan plan = TransformerPlan({.layers = 8, .odd_layer = 3});
  const View view = Make(plan, {.max_nodes = 12});
  ExpectSound(view);
  EXPECT_LE(view.nodes.size(), 24u);
  EXPECT_GT(CountKind(view, ViewNode::Kind::kSummary), 0u);
  EXPECT_THAT(view.notes, Contains(HasSubstr("stay folded")));
  EXPECT_THAT(Dump(view), HasSubstr("layers.4 .. layers.7  × 4"));
}

TEST(View, ABareGraphHasNoLayouts) {
  const View view = Make(BareTransformer({.layers = 4}));
  ExpectSound(view);
  EXPECT_EQ(CountKind(view, ViewNode::Kind::kCollective), 0u);
  EXPECT_TRUE(view.legend.empty());
  for (const ViewEdge& edge : view.edges) EXPECT_THAT(edge.label, ::testing::Not(HasSubstr("S(")));
  for (const auto format : {"dot", "svg", "md", "txt"}) {
    EXPECT_TRUE((*FormatForPath(StrCat("x.", format)))->render(BareTransformer(), {}).ok()) << format;
  }
}

TEST(View, OtherNotation) {
  EXPECT_THAT(Dump(Make(TransformerPlan({.layers = 1}), {.notation = Notation::kDimsMapping})),
              HasSubstr("[0,-1,-1] partial=[1:sum]"));
}

// Layers that all read a table, which is made within the first one.
Plan WithTable(int layers) {
  GraphBuilder builder("tables");
  builder.AddInput("x", {DType::kF32, {8, 64}});
  builder.AddInput("positions", {DType::kI64, {8}});
  builder.AddParameter("angles", {DType::kF32, {512, 64}});
  const auto add = [&](const char* type, const std::string& name, std::vector<std::string> inputs, int layer) {
    builder.AddOp(type, name, std::move(inputs), {name}, {}, StrCat("layers.", layer, "/attn"));
    builder.DescribeTensor(name, {DType::kF32, {8, 64}});
  };
  add("Gather", "rows", {"angles", "positions"}, 0);
  add("Cos", "cos", {"rows"}, 0);
  std::string last = "x";
  for (int layer = 0; layer < layers; ++layer) {
    const std::string turned = StrCat("turned", layer), next = StrCat("next", layer);
    add("Mul", turned, {last, "cos"}, layer);
    add("Relu", next, {turned}, layer);
    last = next;
  }
  builder.AddOutput(last);
  Plan plan;
  plan.graph = *builder.Build("tables");
  return plan;
}

TEST(View, SideTablesAreNamedBesideTheirReaders) {
  const std::string dump = Dump(Make(WithTable(6)));
  EXPECT_THAT(dump, HasSubstr("group layers.0 .. layers.5"));  // the first layer is as the others
  EXPECT_THAT(dump, HasSubstr("node side tables"));
  EXPECT_THAT(dump, HasSubstr("edge cos -> Mul"));
  EXPECT_THAT(dump, ::testing::Not(HasSubstr("edge side tables")));
  // Few readers: an ordinary value.
  EXPECT_THAT(Dump(Make(WithTable(3))), HasSubstr("edge Cos -> Mul"));
}

// A chain of layers that add the same input, as cross-attention reads a text.
Plan WithSideInput(size_t layers) {
  const TensorType type{DType::kF32, {8, 64}};
  GraphBuilder builder("cross");
  builder.AddInput("x", type);
  builder.AddInput("text", type);
  std::string last = "x";
  for (size_t i = 0; i < layers; ++i) {
    const std::string scope = StrCat("block", i), sum = StrCat("sum", i), next = StrCat("next", i);
    builder.AddOp("Add", sum, {last, "text"}, {sum}, {}, scope);
    builder.AddOp(StrCat("Op", i), next, {sum}, {next}, {}, scope);  // no two blocks are alike
    for (const std::string& name : {sum, next}) builder.DescribeTensor(name, type);
    last = next;
  }
  builder.AddOutput(last);
  Plan plan;
  plan.graph = *builder.Build("cross");
  return plan;
}

TEST(View, InputsThatAllLayersReadAreNamedBesideThem) {
  const auto texts = [](const std::string& dump) {
    size_t count = 0;
    for (const std::string_view line : Split(dump, '\n')) count += line.find("edge text -> Add") != line.npos;
    return count;
  };
  const View view = Make(WithSideInput(6));
  ExpectSound(view);
  EXPECT_EQ(std::ranges::count(view.nodes, "text", &ViewNode::title), 6);
  EXPECT_EQ(texts(Dump(view)), 6U);
  EXPECT_EQ(std::ranges::count(Make(WithSideInput(3)).nodes, "text", &ViewNode::title), 1);  // few readers
}

TEST(View, EmbeddingsThatAreAlikeAreOneNode) {
  GraphBuilder builder("embeddings");
  std::vector<std::string> rows;
  for (int i = 0; i < 26; ++i) {
    const std::string index = StrCat("index", i), table = StrCat("table", i), row = StrCat("row", i);
    builder.AddInput(index, {DType::kI64, {32}});
    builder.AddParameter(table, {DType::kF32, {100 + i, 16}});
    builder.AddOp("Gather", row, {table, index}, {row}, {}, StrCat("emb/", i));
    builder.DescribeTensor(row, {DType::kF32, {32, 16}});
    rows.push_back(row);
  }
  builder.AddOp("Concat", "join", rows, {"y"}, {}, "top");
  builder.DescribeTensor("y", {DType::kF32, {32, 416}});
  builder.AddOutput("y");
  Plan plan;
  plan.graph = *builder.Build("embeddings");
  const View view = Make(plan);
  ExpectSound(view);
  EXPECT_EQ(view.nodes.size(), 4u);  // inputs, embeddings, Concat, output
  EXPECT_THAT(Dump(view), HasSubstr("edge 26 inputs -> emb/0 .. 25 × 26\n"));
}

// A chain of ops without scopes, every one different: nothing folds.
Plan Chain(size_t ops) {
  GraphBuilder builder("chain");
  builder.AddInput("t0", {DType::kF32, {64}});
  for (size_t i = 0; i < ops; ++i) {
    const std::string out = StrCat("t", i + 1);
    builder.AddOp(StrCat("Op", i), StrCat("op", i), {StrCat("t", i)}, {out});
    builder.DescribeTensor(out, {DType::kF32, {static_cast<int64_t>(i % 97) + 1}});
  }
  builder.AddOutput(StrCat("t", ops));
  Plan plan;
  plan.graph = *builder.Build("chain");
  return plan;
}

// Layers that each read and write a state of their own, as a decoder does with its cache.
TEST(View, StatesOfFoldedLayersAreFolded) {
  GraphBuilder builder("decoder");
  const TensorType type = ParseTensorType("f32[4,4]").value();
  builder.AddInput("x", type);
  std::string last = "x";
  for (int i = 0; i < 5; ++i) {
    const auto add = [&](const char* op, std::vector<std::string> inputs, const std::string& output) {
      builder.DescribeTensor(output, type);
      builder.AddOp(op, output, inputs, {output}, {}, StrCat("layers.", i));
      last = output;
    };
    builder.AddInput(StrCat("past.", i), type);
    add("Add", {last, StrCat("past.", i)}, StrCat("present.", i));
    builder.AddOutput(last);
    add("Relu", {last}, StrCat("act", i));
    add("Exp", {last}, StrCat("exp", i));
  }
  builder.AddOutput(last);
  Plan plan;
  plan.graph = builder.Build("decoder").value();
  const View view = Make(plan);
  std::vector<std::string> states;
  for (const ViewNode& node : view.nodes) {
    if (node.title.starts_with("past") || node.title.starts_with("present")) states.push_back(node.title);
  }
  EXPECT_THAT(states, ::testing::UnorderedElementsAre("past.0  × 5", "present.0  × 5"));
}

// What folded copies take counts, and so do all runs of a step.
TEST(View, TimesOfFramesAreOfTheWholeStep) {
  const Plan plan = TransformerPlan({.layers = 4});
  const View view = Make(plan);
  const StepCosts costs(plan);
  double seconds = 0;
  int64_t copies = 0;
  for (uint32_t o = 0; o < plan.graph.ops.size(); ++o) {
    const std::string_view scope = plan.graph.scopes[plan.graph.ops[o].scope];
    if (scope.find("layers.") != std::string_view::npos) seconds += costs.OpSeconds(o);
  }
  for (uint32_t t = 0; t < plan.transitions.size(); ++t) {
    const OpId op = costs.ForWhom(t);
    const bool within = op.valid() && plan.graph.scopes[plan.graph.op(op).scope].find("layers.") != std::string::npos;
    if (within) seconds += costs.TransitionSeconds(t) + costs.CutSeconds(t);
  }
  std::string note;
  for (const ViewGroup& group : view.groups) {
    if (group.copies <= 1) continue;
    copies = group.copies;
    note = group.note;
    break;
  }
  ASSERT_EQ(copies, 4);
  EXPECT_EQ(note, StrCat("each ", FormatSeconds(seconds / 4)));
}

TEST(View, WarningsAreNotes) {
  Plan plan = TransformerPlan();
  plan.warnings = {"something is odd"};
  plan.cluster.device.memory_bytes.value = 1;
  const View view = Make(plan);
  EXPECT_THAT(view.notes, ::testing::Contains("warning: something is odd"));
  EXPECT_THAT(view.notes, ::testing::Contains(::testing::StartsWith("does not fit: ")));
}

TEST(View, LongFlatGraphsAreCutIntoRanges) {
  const auto start = std::chrono::steady_clock::now();
  View view = Make(Chain(50'000));
  SplitIntoColumns(view);
  ExpectSound(view);
  EXPECT_LE(view.nodes.size(), 800u);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20.0);  // sanitizers
}

TEST(View, ColumnsBreakARibbon) {
  View view = Make(Chain(120));
  const size_t nodes = view.nodes.size();
  SplitIntoColumns(view);
  ExpectSound(view);
  const size_t connectors = CountKind(view, ViewNode::Kind::kConnector);
  EXPECT_GE(connectors, 2u);
  EXPECT_EQ(view.nodes.size(), nodes + connectors);
  EXPECT_EQ(connectors % 2, 0u);
}

TEST(View, CorruptPlansDoNotCrash) {
  Plan plan = TransformerPlan({.layers = 2});
  plan.op_records.assign(plan.op_records.size(), 99999);
  plan.transitions[0].tensor = TensorId(123456);
  plan.transitions[1].consumers[0].op = OpId(123456);
  plan.source_layouts.clear();
  plan.memory.peak_op = OpId(777777);
  for (const FormatRow& row : AllFormats()) EXPECT_TRUE(row.render(plan, {}).ok()) << row.extension;
}

}  // namespace
}  // namespace sbp
