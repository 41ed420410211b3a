#include "render/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "graph/builder.h"
#include "render/overview_map.h"
#include "render/render.h"
#include "render/text_width.h"
#include "unit/plans/transformer.h"

namespace sbp {
namespace {

using sbp::testing::BareTransformer;
using sbp::testing::TransformerPlan;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Overview Look(const Plan& plan, const RenderOptions& options = {}) {
  Result<Overview> overview = MakeOverview(plan, options);
  EXPECT_TRUE(overview.ok()) << overview.status().message();
  return overview.ok() ? *std::move(overview) : Overview();
}

std::vector<std::string> RowTitles(const Overview& overview) {
  std::vector<std::string> titles;
  for (const OverviewRow& row : overview.rows) titles.push_back(row.title);
  return titles;
}

double Sum(const Overview& overview) {
  double sum = overview.optimizer.seconds();
  for (const OverviewRow& row : overview.rows) sum += row.forward.seconds() + row.backward.seconds();
  return sum;
}

TEST(Overview, RepeatedLayersAreOneFrame) {
  const Overview overview = Look(TransformerPlan({.layers = 32}));
  ASSERT_EQ(overview.frames.size(), 1u);
  EXPECT_EQ(overview.frames[0].copies, 32);
  EXPECT_THAT(RowTitles(overview), Contains("attn"));
  EXPECT_THAT(RowTitles(overview), Contains("mlp"));
  EXPECT_LE(overview.rows.size(), 14u);
}

TEST(Overview, TimesAreOfAllCopiesAndAddUpToTheStep) {
  for (const int64_t layers : {1, 4, 32}) {
    const Plan plan = TransformerPlan({.layers = layers, .odd_layer = 2});
    double step = 0;
    for (uint32_t o = 0; o < plan.graph.ops.size(); ++o) step += plan.decision(OpId(o)).compute_seconds;
    for (const Transition& transition : plan.transitions) {
      for (const BoxingStep& boxing : transition.steps) step += boxing.seconds;
    }
    EXPECT_NEAR(Sum(Look(plan)), step, 1e-9 * step) << layers;
  }
}

TEST(Overview, CollectivesAreCountedByKindAndAxis) {
  const Overview overview = Look(TransformerPlan({.layers = 4}));
  ASSERT_FALSE(overview.collectives.empty());
  EXPECT_EQ(overview.collectives[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(overview.collectives[0].axis, "model");
  EXPECT_EQ(overview.collectives[0].count, 8);
}

TEST(Overview, AGraphWithoutAPlanCountsOps) {
  const Overview overview = Look(BareTransformer({.layers = 8}));
  EXPECT_TRUE(overview.bare);
  size_t ops = 0;
  for (const OverviewRow& row : overview.rows) ops += row.forward.ops;
  EXPECT_EQ(ops, BareTransformer({.layers = 8}).graph.ops.size());
  for (const OverviewFlow& flow : overview.flows) EXPECT_EQ(flow.layout, "");
}

TEST(Overview, ExpandOpensAScope) {
  EXPECT_GT(Look(TransformerPlan({.layers = 4}), {.expand = {"layers.0/mlp"}}).rows.size(),
            Look(TransformerPlan({.layers = 4})).rows.size());
  EXPECT_EQ(MakeOverview(TransformerPlan(), {.expand = {"nope"}}).status().code(), Code::kBadInput);
}

// A scope of more parts than there is room for opens in ranges of neighbours.
TEST(Overview, ExpandOpensAWideScopeInRanges) {
  GraphBuilder builder("wide");
  const TensorType type = ParseTensorType("f32[4,4]").value();
  builder.AddInput("x", type);
  constexpr size_t kWide = 45;
  const std::vector<std::string> types = {"Exp", "Tanh", "Relu", "Sigmoid", "Abs", "Neg", "Sqrt"};
  std::string last = "x";
  size_t type_of = 0;
  for (size_t i = 0; i < kWide + 3; ++i) {
    type_of = (type_of + 1 + i * i % 5 + i / 11) % types.size();  // no repeats, which would be one part
    const std::string name = StrCat("op", i);
    builder.DescribeTensor(name, type);
    builder.AddOp(types[type_of], name, {last}, {name}, {}, StrCat(i < kWide ? "wide/" : "end/", name));
    last = name;
  }
  builder.AddOutput(last);
  Plan plan;
  plan.graph = builder.Build("wide").value();
  const Overview overview = Look(plan, {.expand = {"wide"}});
  EXPECT_GT(overview.rows.size(), 20u);
  EXPECT_LE(overview.rows.size(), 30u);
  size_t ops = 0;
  for (const OverviewRow& row : overview.rows) ops += row.forward.ops;
  EXPECT_EQ(ops, kWide + 3);
}

// A layer's backward pass stands in the row of its forward pass.
TEST(Overview, BackwardStandsBesideForward) {
  GraphBuilder builder("step");
  const TensorType type = ParseTensorType("f32[4,4]").value();
  builder.AddInput("x", type);
  const auto add = [&](const std::string& name, std::vector<std::string> inputs, const std::string& scope) {
    builder.DescribeTensor(name, type);
    builder.AddOp(StrCat("Op", scope.size()), name, std::move(inputs), {name}, {}, scope);
  };
  add("a", {"x"}, "net/first");
  add("a2", {"a"}, "net/first");
  add("b", {"a2"}, "net/second");
  add("b2", {"b"}, "net/second");
  add("loss", {"b2"}, "loss");
  add("backward/loss/d", {"loss"}, "backward/loss");
  add("backward/b/d", {"backward/loss/d", "b"}, "backward/net/second");
  add("backward/a/d", {"backward/b/d", "a"}, "backward/net/first");
  builder.AddOutput("backward/a/d");
  Plan plan;
  plan.graph = builder.Build("step").value();
  const Overview overview = Look(plan, {.expand = {"forward/net"}});
  EXPECT_TRUE(overview.training);
  ASSERT_THAT(RowTitles(overview), ElementsAre("net/first", "net/second", "loss"));
  for (const OverviewRow& row : overview.rows) EXPECT_EQ(row.backward.ops, 1u) << row.title;
  EXPECT_EQ(overview.rows[0].kept_bytes, 64);
}

// Ops in a row, each of which reads what the one before writes.
class Chain {
 public:
  Chain() { builder_.AddInput(last_, type_); }
  void Add(const std::string& op_type, const std::string& name, const std::string& scope) {
    builder_.DescribeTensor(name, type_);
    builder_.AddOp(op_type, name, {last_}, {name}, {}, scope);
    last_ = name;
  }
  Plan Build() {
    builder_.AddOutput(last_);
    Plan plan;
    plan.graph = builder_.Build("step").value();
    return plan;
  }

 private:
  GraphBuilder builder_{"step"};
  const TensorType type_ = ParseTensorType("f32[4,4]").value();
  std::string last_ = "x";
};

// Ops of one scope that are different rows: each has its own derivative.
TEST(Overview, DerivativesStandBesideTheirOps) {
  Chain chain;
  const auto add = [&](const std::string& name, const std::string& scope) { chain.Add("Relu", name, scope); };
  add("early", "net");
  add("middle", "net/middle");
  add("middle2", "net/middle");
  add("late", "net");
  add("loss", "loss");
  for (const char* op : {"loss", "late", "middle", "early"}) {
    add(StrCat("backward/", op, "/d"), StrCat("backward/", op == std::string("middle") ? "net/middle" : "net"));
  }
  const Plan plan = chain.Build();
  const Overview overview = Look(plan, {.expand = {"forward/net"}});
  ASSERT_GE(overview.rows.size(), 3u);
  for (const OverviewRow& row : overview.rows) EXPECT_EQ(row.backward.ops, 1u) << row.title;
}

// What is computed again stands beside what it is, and so does the derivative of it.
TEST(Overview, WhatIsComputedAgainStandsBesideItsOp) {
  Chain chain;
  const auto add = [&](const std::string& name, const std::string& scope) {
    chain.Add(name == "second" ? "Tanh" : "Relu", name, scope);
  };
  add("first", "net/first");
  add("second", "net/second");
  add("loss", "loss");
  add("backward/loss/d", "backward/loss");
  add("again/first", "backward/again/net/first");
  add("again/joined", "backward/again/net/second");  // no op of the forward pass has its name, but its scope
  add("backward/again/first/d", "backward/net/first");
  const Plan plan = chain.Build();
  const Overview overview = Look(plan, {.expand = {"forward/net"}});
  ASSERT_THAT(RowTitles(overview), ElementsAre("net/first", "net/second", "loss"));
  EXPECT_EQ(overview.rows[0].backward.ops, 2u);
  EXPECT_EQ(overview.rows[1].backward.ops, 1u);
  EXPECT_EQ(overview.rows[2].backward.ops, 1u);
}

// Embeddings of many tables are one part, though they take most of the step.
TEST(Overview, ManyEmbeddingsAreOnePart) {
  GraphBuilder builder("recommender");
  const TensorType ids = ParseTensorType("i64[64]").value(), row = ParseTensorType("f32[64,8]").value();
  std::vector<std::string> rows;
  for (int i = 0; i < 8; ++i) {
    const std::string name = StrCat("table", i);
    builder.AddInput(StrCat("ids", i), ids);
    builder.AddParameter(StrCat(name, ".weight"), TensorType{DType::kF32, {100 * (i + 1), 8}});
    builder.DescribeTensor(name, row);
    builder.AddOp("Gather", name, {StrCat(name, ".weight"), StrCat("ids", i)}, {name}, {}, StrCat("tables/", i));
    rows.push_back(name);
  }
  builder.DescribeTensor("all", ParseTensorType("f32[64,64]").value());
  builder.AddOp("Concat", "all", rows, {"all"}, {}, "interaction");
  builder.AddOutput("all");
  Plan plan;
  plan.graph = builder.Build("recommender").value();
  EXPECT_THAT(RowTitles(Look(plan)), ElementsAre("tables/0 .. 7", "interaction"));
  EXPECT_EQ(Look(plan, {.expand = {"tables/*"}}).rows.size(), 9u);
}

TEST(Overview, IsTheDefaultOfLargeGraphs) {
  const auto name = [](const Plan& plan, const RenderOptions& options) { return (*ViewFor(plan, options))->name; };
  const Plan small = BareTransformer({.layers = 1}), large = BareTransformer({.layers = 64});
  ASSERT_GT(large.graph.ops.size(), kMostOpsOfGraphView);
  EXPECT_EQ(name(small, {}), "graph");
  EXPECT_EQ(name(large, {}), "overview");
  EXPECT_EQ(name(large, {.expand = {"layers.0"}}), "graph");
  EXPECT_EQ(name(large, {.view = "graph"}), "graph");
  EXPECT_EQ(ViewFor(small, {.view = "grph"}).status().code(), Code::kUsage);
}

std::string Svg(const Plan& plan, const RenderOptions& options) {
  auto picture = (*FormatForPath("x.svg"))->render(plan, options);
  EXPECT_TRUE(picture.ok()) << picture.status().message();
  return picture.ok() ? *picture : "";
}

// Texts that lie over each other, were they as wide as the widest of the common fonts sets them.
std::vector<std::string> Overlaps(std::string_view svg) {
  struct Extent {
    double left, right, base, size;
    std::string text;
  };
  const auto value = [](std::string_view tag, std::string_view name) {
    const size_t at = tag.find(StrCat(" ", name, "=\""));
    return at == std::string_view::npos ? std::string() : std::string(tag.substr(at + name.size() + 3, 12));
  };
  std::vector<Extent> extents;
  for (const std::string_view line : Split(svg, '\n')) {
    if (!line.starts_with("<text ")) continue;
    const size_t close = line.find('>');
    const std::string text(line.substr(close + 1, line.find("</text>") - close - 1));
    const double x = std::atof(value(line, "x").c_str()), size = std::atof(value(line, "font-size").c_str());
    const double room = RoomFor(text, size, line.find("bold") != std::string_view::npos);
    const std::string anchor = value(line, "text-anchor");
    const double left = x - (anchor.starts_with("middle") ? room / 2 : anchor.starts_with("end") ? room : 0);
    extents.push_back({left, left + room, std::atof(value(line, "y").c_str()), size, text});
  }
  std::vector<std::string> overlaps;
  for (size_t i = 0; i < extents.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const Extent &a = extents[i], &b = extents[k];
      const double apart = a.base > b.base ? a.base - b.base - a.size * 0.72 : b.base - a.base - b.size * 0.72;
      if (a.left < b.right && b.left < a.right && apart < 0) overlaps.push_back(StrCat(a.text, " / ", b.text));
    }
  }
  return overlaps;
}

TEST(Overview, TextsDoNotLieOverEachOther) {
  EXPECT_EQ(Overlaps("<text x=\"0\" y=\"0\" font-size=\"9\">long text\n</text>"
                     "\n<text x=\"20\" y=\"2\" font-size=\"9\">more</text>")
                .size(),
            1u);
  for (const int64_t layers : {1, 4, 48}) {
    EXPECT_THAT(Overlaps(Svg(TransformerPlan({.layers = layers, .odd_layer = 1}), {.view = "overview"})), IsEmpty());
    EXPECT_THAT(Overlaps(Svg(TransformerPlan({.layers = layers}), {.expand = {"*"}, .view = "overview"})), IsEmpty());
    EXPECT_THAT(Overlaps(Svg(BareTransformer({.layers = layers}), {.view = "overview"})), IsEmpty());
  }
}

TEST(Overview, TenThousandOpsAreSmallFiles) {
  const Plan plan = TransformerPlan({.layers = 700, .odd_layer = 350});
  ASSERT_GE(plan.graph.ops.size(), 10'000u);
  for (const char* view : {"overview", "graph"}) EXPECT_LT(Svg(plan, {.view = view}).size(), 1'000'000u) << view;
}

TEST(Overview, CorruptPlansDoNotCrash) {
  Plan plan = TransformerPlan({.layers = 2});
  plan.op_records.assign(plan.op_records.size(), 99999);
  plan.source_layouts.resize(1);
  plan.transitions[0].tensor = TensorId();
  plan.transitions[1].consumers.clear();
  EXPECT_TRUE(DrawOverview(plan, {}).ok());
  EXPECT_TRUE(DrawOverview(Plan(), {}).ok());
}

}  // namespace
}  // namespace sbp
