#include "render/graph_drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "graph/builder.h"
#include "render/render.h"
#include "render/view.h"

namespace sbp {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

View ViewOf(size_t nodes, std::vector<ViewEdge> edges) {
  View view;
  view.nodes.resize(nodes);
  view.edges = std::move(edges);
  return view;
}

TEST(RanksCrossed, LongEdgesCountAsManyRanksAsTheyPass) {
  EXPECT_EQ(RanksCrossed(ViewOf(3, {})), 0);
  EXPECT_EQ(RanksCrossed(ViewOf(4, {{0, 1}, {1, 2}, {2, 3}})), 3);
  EXPECT_EQ(RanksCrossed(ViewOf(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}})), 6);
}

TEST(RanksCrossed, WhatNothingLeadsToStandsBesideItsReader) {
  EXPECT_EQ(RanksCrossed(ViewOf(5, {{0, 1}, {1, 2}, {2, 3}, {4, 3}})), 4);
}

TEST(RanksCrossed, TheBackwardPassRunsUpwards) {
  const auto back = ViewEdge::Kind::kBackward;
  const std::vector<ViewEdge> passes = {
      {0, 1}, {1, 2}, {.from = 5, .to = 4, .kind = back}, {.from = 4, .to = 3, .kind = back}, {0, 3}, {1, 4}, {2, 5}};
  EXPECT_EQ(RanksCrossed(ViewOf(6, passes)), 7);  // both passes stand beside each other
}

TEST(RanksCrossed, CyclesEnd) {
  EXPECT_EQ(RanksCrossed(ViewOf(3, {{0, 1}, {1, 2}, {2, 0}})), 4);
  EXPECT_EQ(RanksCrossed(ViewOf(2, {{0, 1}, {1, 0}})), 2);
}

// A chain whose ops all read what stands at its beginning; nothing in it repeats.
Plan FanPlan(int ops) {
  GraphBuilder builder("fan");
  builder.AddInput("x", {DType::kF32, {16, 32}});
  builder.AddOp("Relu", "first", {"x"}, {"t0"});
  builder.DescribeTensor("t0", {DType::kF32, {16, 32}});
  for (int i = 0; i < ops; ++i) {
    const char* const type = std::array{"Add", "Sub", "Mul", "Max", "Min"}[static_cast<size_t>(i * i / 7 % 5)];
    builder.AddOp(type, StrCat("op", i), {StrCat("t", i), "t0"}, {StrCat("t", i + 1)}, {}, StrCat("s", i / 9));
    builder.DescribeTensor(StrCat("t", i + 1), {DType::kF32, {16, 32}});
  }
  builder.AddOutput(StrCat("t", ops));
  Plan plan;
  plan.graph = *builder.Build("fan");
  return plan;
}

TEST(GraphDrawing, IsFoldedToWhatIsLaidOutInSeconds) {
  const Plan plan = FanPlan(900);
  for (const RenderOptions& options : {RenderOptions{.max_nodes = 1000}, RenderOptions{.expand = {"*"}}}) {
    View view = *MakeView(plan, options);
    SplitIntoColumns(view);
    ASSERT_GT(RanksCrossed(view), kMostRanksCrossed);
    const std::string dot = *DrawGraph(plan, options);
    EXPECT_THAT(dot, HasSubstr("takes minutes to lay out; a page (-o FILE.html) opens all"));
    EXPECT_LT(std::ranges::count(dot, '\n'), 1500);
  }
  EXPECT_THAT(*DrawGraph(FanPlan(60), {.max_nodes = 1000}), Not(HasSubstr("takes minutes")));
  EXPECT_THAT(*DrawGraph(plan, {.expand = {"s3"}, .max_nodes = 60}), HasSubstr("to keep the drawing readable"));
}

}  // namespace
}  // namespace sbp
