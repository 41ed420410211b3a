#include "page/graph_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace sbp {
namespace {

std::vector<BoxSize> Boxes(size_t count) { return std::vector<BoxSize>(count, {.width = 100, .height = 40}); }

bool Overlap(Point a, BoxSize size_a, Point b, BoxSize size_b) {
  return a.x < b.x + size_b.width && b.x < a.x + size_a.width && a.y < b.y + size_b.height && b.y < a.y + size_a.height;
}

void ExpectSound(const std::vector<BoxSize>& boxes, const std::vector<BoxEdge>& edges, const BoxLayout& layout) {
  ASSERT_EQ(layout.at.size(), boxes.size());
  ASSERT_EQ(layout.routes.size(), edges.size());
  for (size_t a = 0; a < boxes.size(); ++a) {
    EXPECT_GE(layout.at[a].x, 0);
    EXPECT_GE(layout.at[a].y, 0);
    EXPECT_LE(layout.at[a].x + boxes[a].width, layout.width);
    EXPECT_LE(layout.at[a].y + boxes[a].height, layout.height);
    for (size_t b = 0; b < a; ++b)
      EXPECT_FALSE(Overlap(layout.at[a], boxes[a], layout.at[b], boxes[b])) << a << " " << b;
  }
  for (const std::vector<Point>& route : layout.routes) {
    ASSERT_GE(route.size(), 2u);
    for (size_t i = 1; i < route.size(); ++i) {
      EXPECT_TRUE(route[i].x == route[i - 1].x || route[i].y == route[i - 1].y) << "a run is not along an axis";
    }
  }
}

TEST(GraphLayout, ChainIsOneStraightColumn) {
  const std::vector<BoxSize> boxes = Boxes(4);
  const std::vector<BoxEdge> edges = {{0, 1}, {1, 2}, {2, 3}};
  const BoxLayout layout = LayOutBoxes(boxes, edges, false);
  ExpectSound(boxes, edges, layout);
  EXPECT_EQ(layout.width, 100);
  for (size_t i = 1; i < 4; ++i) EXPECT_GT(layout.at[i].y, layout.at[i - 1].y + 40);
  EXPECT_EQ(layout.routes[0], (std::vector<Point>{{50, 40}, {50, layout.at[1].y}}));
}

TEST(GraphLayout, UpwardsIsTheMirrorImage) {
  const std::vector<BoxSize> boxes = {{100, 40}, {60, 80}, {100, 40}};
  const std::vector<BoxEdge> edges = {{0, 1}, {0, 2}, {1, 2}};
  const BoxLayout down = LayOutBoxes(boxes, edges, false), up = LayOutBoxes(boxes, edges, true);
  for (size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_EQ(up.at[i].x, down.at[i].x);
    EXPECT_EQ(up.at[i].y, down.height - down.at[i].y - boxes[i].height);
  }
  for (size_t k = 0; k < down.routes[1].size(); ++k) EXPECT_EQ(up.routes[1][k].y, down.height - down.routes[1][k].y);
}

TEST(GraphLayout, SkipPassesBesideWhatItSkips) {
  const std::vector<BoxSize> boxes = Boxes(4);
  const std::vector<BoxEdge> edges = {{0, 1}, {0, 3}, {1, 2}, {2, 3}};
  const BoxLayout layout = LayOutBoxes(boxes, edges, false);
  ExpectSound(boxes, edges, layout);
  for (size_t i = 1; i < layout.routes[1].size(); ++i) {
    const Point a = layout.routes[1][i - 1], b = layout.routes[1][i];
    for (const size_t skipped : {size_t{1}, size_t{2}}) {
      const Point at = layout.at[skipped];
      const bool crosses = std::max(a.x, b.x) > at.x && std::min(a.x, b.x) < at.x + 100 && std::max(a.y, b.y) > at.y &&
                           std::min(a.y, b.y) < at.y + 40;
      EXPECT_FALSE(crosses) << "run " << i << " crosses box " << skipped;
    }
  }
}

TEST(GraphLayout, MarksHaveRoom) {
  const std::vector<BoxSize> boxes = Boxes(2);
  const BoxLayout plain = LayOutBoxes(boxes, std::vector<BoxEdge>{{0, 1, false}}, false);
  const BoxLayout marked = LayOutBoxes(boxes, std::vector<BoxEdge>{{0, 1, true}}, false);
  EXPECT_GE(marked.at[1].y, plain.at[1].y + 20);
  const BoxLayout own = LayOutBoxes(std::vector<BoxSize>{{100, 40, true}}, {}, false);
  EXPECT_GE(own.at[0].y, 20);
}

TEST(GraphLayout, ManyBesideEachOtherWrap) {
  const std::vector<BoxSize> boxes = Boxes(200);
  const BoxLayout layout = LayOutBoxes(boxes, {}, false);
  ExpectSound(boxes, {}, layout);
  EXPECT_LT(layout.width, 2000);
}

TEST(GraphLayout, WhatNothingJoinsIsABlock) {
  const std::vector<BoxSize> boxes = Boxes(12);
  const BoxLayout block = LayOutBoxes(boxes, {}, false);  // as segments that are computed again
  ExpectSound(boxes, {}, block);
  EXPECT_EQ(block.width, 2 * 100 + 28);
  EXPECT_GE(2 * block.height, block.width);
  const std::vector<BoxEdge> chain = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 10}};
  EXPECT_EQ(LayOutBoxes(boxes, chain, false).at[11].y, 0) << "beside the first one";
}

TEST(GraphLayout, CyclesAreLaidOut) {
  const std::vector<BoxSize> boxes = Boxes(3);
  const std::vector<BoxEdge> edges = {{0, 1}, {1, 0}, {1, 2}, {2, 0}};
  ExpectSound(boxes, edges, LayOutBoxes(boxes, edges, false));
}

TEST(GraphLayout, RandomGraphsAreSound) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<BoxSize> boxes;
    for (int n = 0; n < 40; ++n) {
      boxes.push_back(
          {static_cast<int32_t>(40 + random() % 300), static_cast<int32_t>(20 + random() % 200), random() % 4 == 0});
    }
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (int e = 0; e < 70; ++e) {
      const uint32_t from = random() % 40, to = random() % 40;
      if (from != to && (from < to || round % 3 == 0)) pairs.emplace_back(from, to);
    }
    std::ranges::sort(pairs);
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    std::vector<BoxEdge> edges;
    for (const auto& [from, to] : pairs) edges.push_back({from, to, random() % 2 == 0});
    ExpectSound(boxes, edges, LayOutBoxes(boxes, edges, round % 2 == 1));
  }
}

TEST(GraphLayout, ColumnsStandOnOneLine) {
  const std::vector<BoxSize> boxes = {{300, 500}, {200, 400}, {100, 100}};
  const std::vector<BoxEdge> edges = {{0, 1}, {0, 2}, {1, 2}};
  const BoxLayout layout = LayOutColumns(boxes, edges);
  ExpectSound(boxes, edges, layout);
  for (size_t i = 0; i < boxes.size(); ++i) EXPECT_EQ(layout.at[i].y + boxes[i].height, 500);
  EXPECT_EQ(layout.routes[0].front().x, 300);
  EXPECT_EQ(layout.routes[0].back().x, layout.at[1].x);
}

}  // namespace
}  // namespace sbp
