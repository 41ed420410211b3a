#include "base/large_pages.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace sbp {
namespace {

// What is there stays, and a vector that outgrows what it had reserved is none the worse.
TEST(LargePages, AheadOfAVectorThatIsFilled) {
  std::vector<size_t> items;
  items.reserve(size_t{40} << 20);  // 320 MB, of which little is touched
  UseLargePages(items);
  {
    PagesAhead ahead(items);
    for (size_t i = 0; i < 300'000; ++i) {
      items.push_back(i);
      ahead.At(items);
    }
  }
  for (size_t i = 0; i < items.size(); ++i) ASSERT_EQ(items[i], i);
  std::vector<size_t> small(3);
  PagesAhead none(small);
  none.At(small);
}

}  // namespace
}  // namespace sbp
