#include "render/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "render/view.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;

// Nodes in frames, each of which stands in another one; 0 is the whole.
View Framed(std::vector<int32_t> parents, std::vector<int32_t> groups, std::vector<ViewEdge> edges) {
  View view;
  view.groups.resize(parents.size());
  for (size_t g = 0; g < parents.size(); ++g) view.groups[g].parent = parents[g];
  view.nodes.resize(groups.size());
  for (size_t n = 0; n < groups.size(); ++n) view.nodes[n].group = groups[n];
  view.edges = std::move(edges);
  return view;
}

std::vector<int32_t> GroupsAfter(View view) {
  DissolveEnteredAgain(view);
  std::vector<int32_t> groups;
  for (const ViewNode& node : view.nodes) groups.push_back(node.group);
  return groups;
}

TEST(Frames, WhatIsEnteredOnceStays) {
  EXPECT_THAT(GroupsAfter(Framed({-1, 0, 1}, {1, 2, 2, 1, 0}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 3}})),
              ElementsAre(1, 2, 2, 1, 0));
}

TEST(Frames, AModuleThatIsCalledAgainHasNone) {
  // A block with a frame of each convolution, and of one ReLU that is called after each.
  EXPECT_THAT(GroupsAfter(Framed({-1, 0, 1, 1, 1}, {2, 3, 4, 3, 0}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}})),
              ElementsAre(2, 1, 4, 1, 0));
}

TEST(Frames, FramesInsideGoUp) {
  EXPECT_THAT(GroupsAfter(Framed({-1, 0, 1, 1, 0}, {2, 4, 3}, {{0, 1}, {1, 2}})), ElementsAre(2, 4, 3));
  View view = Framed({-1, 0, 1, 1, 0}, {2, 4, 3}, {{0, 1}, {1, 2}});
  DissolveEnteredAgain(view);
  EXPECT_EQ(view.groups[2].parent, 0);
  EXPECT_EQ(view.groups[3].parent, 0);
}

TEST(Frames, FoldedScopesMayStandOnCycles) {
  EXPECT_THAT(GroupsAfter(Framed({-1, 0}, {0, 0, 1, 1}, {{0, 1}, {1, 0}, {1, 2}, {2, 3}})), ElementsAre(0, 0, 1, 1));
}

}  // namespace
}  // namespace sbp
