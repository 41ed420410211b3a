// Room for copies: as much as the plans seen have needed, where they needed it.
#include "strategy/optimal/copy_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace sbp {
namespace {

using Bytes = std::vector<int64_t>;

Bytes Kept(const CopyRoom& room) { return {room.bytes().begin(), room.bytes().end()}; }

TEST(CopyRoom, OnlyWhereAPlanExceeds) {
  CopyRoom room(4, 100);
  EXPECT_TRUE(room.empty());
  // Held and counted; moment 1 exceeds by 20 and has copies of 70, moment 2 has copies and fits.
  EXPECT_TRUE(room.Tighten(Bytes{10, 120, 90, 0}, Bytes{10, 50, 10, 0}));
  EXPECT_EQ(Kept(room), (Bytes{0, 70, 0, 0}));
  // Another plan exceeds elsewhere: what was learned stays.
  EXPECT_TRUE(room.Tighten(Bytes{101, 100, 90, 0}, Bytes{90, 100, 10, 0}));
  EXPECT_EQ(Kept(room), (Bytes{11, 70, 0, 0}));
  // The same again tells nothing new, so that whoever goes on until nothing is new comes to an end.
  EXPECT_FALSE(room.Tighten(Bytes{101, 100, 90, 0}, Bytes{90, 100, 10, 0}));
}

TEST(CopyRoom, APlanThatFitsStaysAChoice) {
  CopyRoom room(3, 100);
  ASSERT_TRUE(room.Tighten(Bytes{120, 150, 0}, Bytes{80, 70, 0}));
  const Bytes held = {90, 60, 30}, counted = {60, 50, 40};
  EXPECT_TRUE(room.Loosen(held, counted));
  EXPECT_EQ(Kept(room), (Bytes{30, 10, 0}));
  for (size_t i = 0; i < held.size(); ++i) EXPECT_LE(counted[i] + room.bytes()[i], 100);
  EXPECT_FALSE(room.Loosen(held, counted));
  room.Halve();
  EXPECT_EQ(Kept(room), (Bytes{15, 5, 0}));
}

// A limit below any copy must not leave less than nothing.
TEST(CopyRoom, NeverMoreThanTheLimit) {
  CopyRoom room(1, 5);
  EXPECT_TRUE(room.Tighten(Bytes{1000}, Bytes{1}));
  EXPECT_EQ(Kept(room), Bytes{5});
}

}  // namespace
}  // namespace sbp
