#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace sbp {
namespace {

TEST(Utf8, CutsBetweenCharacters) {
  EXPECT_EQ(CutAtCharacter("abc", 3), "abc");
  EXPECT_EQ(CutAtCharacter("abcd", 3), "abc");
  EXPECT_EQ(CutAtCharacter("", 0), "");
  const std::string text = "aé€😀b";  // of 1, 2, 3, 4 and 1 bytes
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (size_t most = 0; most < std::size(ends); ++most) {
    EXPECT_EQ(CutAtCharacter(text, most), text.substr(0, ends[most])) << most;
  }
}

TEST(Utf8, CutsWhatIsNone) {
  const std::string tails(10, '\x80');
  EXPECT_EQ(CutAtCharacter(tails, 7).size(), 7u);
}

TEST(Utf8, QuotedTextsToo) {
  std::string text(399, 'a');
  text += "é and more";
  EXPECT_EQ(Quote(text).find("é"), std::string::npos);
  EXPECT_EQ(Quote(text).find('\xC3'), std::string::npos);
}

}  // namespace
}  // namespace sbp
