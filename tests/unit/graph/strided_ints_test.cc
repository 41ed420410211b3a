#include "graph/strided_ints.h"

#include <gtest/gtest.h>

#include <limits>

namespace sbp {
namespace {

TEST(StridedInts, AreFoundWhereEveryElementAgrees) {
  const std::vector<int64_t> grid = {5, 6, 7, 25, 26, 27};
  EXPECT_EQ(FindStrides({2, 3}, grid), (StridedInts{5, {20, 1}}));
  EXPECT_EQ(FindStrides({2, 1, 3}, grid), (StridedInts{5, {20, 0, 1}}));
  EXPECT_EQ(FindStrides({}, std::vector<int64_t>{7}), (StridedInts{7, {}}));
  EXPECT_EQ(FindStrides({2, 2}, std::vector<int64_t>{3, 3, 2, 2}), (StridedInts{3, {-1, 0}}));
  EXPECT_EQ(FindStrides({0, 2}, {}), std::nullopt);
  for (size_t i = 0; i < grid.size(); ++i) {  // whichever is off
    std::vector<int64_t> off = grid;
    ++off[i];
    EXPECT_EQ(FindStrides({2, 3}, off), std::nullopt) << i;
  }
}

TEST(StridedInts, ExtremesDoNotOverflow) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(FindStrides({3}, std::vector<int64_t>{kMost, kLeast, 0}), std::nullopt);
  EXPECT_EQ(FindStrides({2}, std::vector<int64_t>{kMost, kLeast}), (StridedInts{kMost, {1}}));
}

}  // namespace
}  // namespace sbp
