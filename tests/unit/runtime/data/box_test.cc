#include "runtime/data/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbp {
namespace {

TEST(Box, SubtractLeavesDisjointBoxes) {
  const Box a = {{0, 6}, {0, 5}, {2, 4}};
  for (int64_t begin = 0; begin < 6; ++begin) {
    for (int64_t end = begin; end <= 6; ++end) {
      const Box b = {{begin, end}, {1, 3}, {0, 3}};
      const std::vector<Box> rest = Subtract(a, b);
      int64_t elements = Elements(Intersect(a, b));
      for (size_t i = 0; i < rest.size(); ++i) {
        elements += Elements(rest[i]);
        EXPECT_TRUE(Contains(a, rest[i]));
        EXPECT_EQ(Elements(Intersect(rest[i], b)), 0);
        for (size_t j = 0; j < i; ++j) EXPECT_EQ(Elements(Intersect(rest[i], rest[j])), 0);
      }
      EXPECT_EQ(elements, Elements(a));
    }
  }
}

TEST(Box, RunsAreAsLongAsBothBuffersAllow) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> runs;
  const auto visit = [&](const ElementRun& run) { runs.emplace_back(run.a, run.b, run.count); };
  // Whole rows of a, half rows of b.
  EachRun({{1, 3}, {0, 4}}, {{0, 4}, {0, 4}}, {{1, 3}, {0, 8}}, visit);
  EXPECT_THAT(runs, ::testing::ElementsAre(std::tuple(4, 0, 4), std::tuple(8, 8, 4)));
  runs.clear();
  EachRun({{1, 3}, {0, 4}}, {{0, 4}, {0, 4}}, {{1, 3}, {0, 4}}, visit);
  EXPECT_THAT(runs, ::testing::ElementsAre(std::tuple(4, 0, 8)));
  runs.clear();
  EachRun({{1, 1}, {0, 4}}, {{0, 4}, {0, 4}}, {{1, 3}, {0, 4}}, visit);
  EXPECT_TRUE(runs.empty());
  EachRun({}, {}, {}, visit);
  EXPECT_THAT(runs, ::testing::ElementsAre(std::tuple(0, 0, 1)));
}

TEST(Box, OneRun) {
  const Box whole = {{2, 6}, {0, 3}, {0, 4}};
  EXPECT_EQ(OnlyRunAt(whole, whole), 0);
  EXPECT_EQ(OnlyRunAt({{4, 6}, {0, 3}, {0, 4}}, whole), 24);
  EXPECT_EQ(OnlyRunAt({{4, 5}, {1, 3}, {0, 4}}, whole), 28);
  EXPECT_EQ(OnlyRunAt({{4, 5}, {1, 2}, {1, 3}}, whole), 29);
  EXPECT_EQ(OnlyRunAt({{4, 6}, {1, 3}, {0, 4}}, whole), std::nullopt);
  EXPECT_EQ(OnlyRunAt({{4, 5}, {1, 3}, {1, 3}}, whole), std::nullopt);
  EXPECT_EQ(OnlyRunAt({{4, 4}, {0, 3}, {0, 4}}, whole), std::nullopt);
  EXPECT_EQ(OnlyRunAt({}, {}), 0);
}

TEST(Box, PackedElementsAtOddPlaces) {
  // 1 2 3 | 4 5 6 in four bits: the second row's last two go to the middle of another buffer.
  const std::byte source[] = {std::byte{0x21}, std::byte{0x43}, std::byte{0x65}};
  std::byte target[] = {std::byte{0xaa}, std::byte{0xaa}};
  CopyBox(DType::kU4, {{1, 2}, {1, 3}}, source, {{0, 2}, {0, 3}}, target, {{1, 2}, {0, 4}});
  EXPECT_EQ(target[0], std::byte{0x5a});
  EXPECT_EQ(target[1], std::byte{0xa6});
}

TEST(Box, PiecesComeFromTheRankItselfFirst) {
  const std::vector<Box> held = {{{0, 4}}, {{2, 6}}, {{6, 8}}};
  const std::vector<Piece> pieces = PiecesFor(1, {{1, 8}}, held);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].source, 1);
  EXPECT_EQ(pieces[0].box, (Box{{2, 6}}));
  EXPECT_EQ(pieces[1].source, 2);
  EXPECT_EQ(pieces[1].box, (Box{{6, 8}}));
  EXPECT_EQ(pieces[2].source, 0);
  EXPECT_EQ(pieces[2].box, (Box{{1, 2}}));
}

}  // namespace
}  // namespace sbp
