// What lies on each other in an arena, and what is said of it.
#include "render/arena_stacks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sbp {
namespace {

// Four of width 200 on each other, each a little later; the fifth is apart in bytes, the sixth in time.
TEST(ArenaStacks, FindsWhatLiesOnEachOther) {
  std::vector<Rectangle> places;
  for (int i = 3; i >= 0; --i) places.push_back({10.0 * i, 5.0 * i, 200, 5});
  places.push_back({0, 40, 200, 5});
  places.push_back({300, 20, 200, 5});
  const std::vector<Stack> stacks = FindStacks(places, 90, 12);
  ASSERT_EQ(stacks.size(), 1U);
  EXPECT_EQ(stacks[0].members, (std::vector<uint32_t>{3, 2, 1, 0}));
  EXPECT_DOUBLE_EQ(stacks[0].place.left, 30);
  EXPECT_DOUBLE_EQ(stacks[0].place.right(), 200);
  EXPECT_DOUBLE_EQ(stacks[0].place.bottom, 0);
  EXPECT_DOUBLE_EQ(stacks[0].place.top(), 20);
}

// A stack ends where what comes next is there with all of it for too short a time; that begins one of its own.
TEST(ArenaStacks, EndsWhereTooLittleIsShared) {
  std::vector<Rectangle> places;
  for (int i = 0; i < 4; ++i) places.push_back({0, 5.0 * i, 100, 5});
  for (int i = 4; i < 8; ++i) places.push_back({50, 5.0 * i, 100, 5});
  const std::vector<Stack> stacks = FindStacks(places, 90, 12);
  ASSERT_EQ(stacks.size(), 2U);
  EXPECT_EQ(stacks[0].members, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(stacks[1].members, (std::vector<uint32_t>{4, 5, 6, 7}));
  EXPECT_TRUE(FindStacks(places, 90, 21).empty()) << "too low for a name";
}

TEST(ArenaStacks, NamesWhatHoldsMost) {
  using All = std::vector<NamedBytes>;
  EXPECT_EQ(NamesTogether(All{{"layers.0/x", 2}, {"loss", 5}, {"layers.11/x", 2}, {"layers.2/x", 2}}),
            "3 x layers.*/x and 1 other");
  EXPECT_EQ(NamesTogether(All{{"a", 1}, {"b.1", 1}, {"b.2", 1}, {"c", 9}}), "c and 3 others");
  EXPECT_EQ(NamesTogether(All{{"layers.3/x", 1}}), "layers.3/x");
  EXPECT_EQ(NamesTogether(All{{"m/h.3/x", 1}, {"m/h.4/x", 1}}), "2 x h.*/x");
  EXPECT_EQ(NamesTogether(All{{"back/m/h.3/x", 1}, {"back/m/h.4/x", 1}}), "2 x back/../h.*/x");
}

}  // namespace
}  // namespace sbp
