#include "render/repeats.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace sbp {
namespace {

struct Case {
  std::string sequence;
  std::string repeats;  // begin:period x copies
};

class RepeatsTest : public ::testing::TestWithParam<Case> {};

TEST_P(RepeatsTest, Finds) {
  const std::vector<uint64_t> hashes(GetParam().sequence.begin(), GetParam().sequence.end());
  std::vector<std::string> found;
  for (const Repeat& r : FindRepeats(hashes, 16)) found.push_back(StrCat(r.begin, ":", r.period, "x", r.copies));
  EXPECT_EQ(Join(found, " "), GetParam().repeats) << GetParam().sequence;
}

INSTANTIATE_TEST_SUITE_P(Rows, RepeatsTest,
                         ::testing::Values(Case{"", ""}, Case{"a", ""}, Case{"abc", ""}, Case{"aa", "0:1x2"},
                                           Case{"aaaaaa", "0:1x6"}, Case{"xabababy", "1:2x3"},
                                           Case{"abcabcab", "0:3x2"}, Case{"aabcdeabcdeabcdef", "1:5x3"},
                                           Case{"aabbb", "0:1x2 2:1x3"}));

TEST(Repeats, LongSequencesStayLinear) {
  std::vector<uint64_t> hashes(200'000);
  for (size_t i = 0; i < hashes.size(); ++i) hashes[i] = i % 7;
  const std::vector<Repeat> repeats = FindRepeats(hashes, 64);
  ASSERT_EQ(repeats.size(), 1u);
  EXPECT_EQ(repeats[0].period, 7u);
}

}  // namespace
}  // namespace sbp
