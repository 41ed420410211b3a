#include "physical/taken.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace sbp {
namespace {

struct Taken {
  uint32_t first, last;
  int64_t begin, end;
};

// Address by address, of everything that shares a position with the interval.
int64_t SlowGap(const std::vector<Taken>& all, uint32_t first, uint32_t last, int64_t floor, int64_t bytes) {
  for (int64_t at = floor;; ++at) {
    const bool clear = std::ranges::none_of(all, [&](const Taken& taken) {
      return taken.first <= last && first <= taken.last && taken.begin < at + bytes && at < taken.end;
    });
    if (clear) return at;
  }
}

TEST(TakenAddresses, FindsTheLowestGap) {
  std::mt19937 random(1);
  for (const uint32_t positions : {1u, 2u, 5u, 16u, 33u}) {
    TakenAddresses taken(positions);
    std::vector<Taken> all;
    for (int i = 0; i < 200; ++i) {
      uint32_t first = random() % positions, last = random() % positions;
      if (first > last) std::swap(first, last);
      const int64_t floor = 3, bytes = 1 + random() % 9;
      const int64_t at = taken.LowestGap(first, last, floor, bytes);
      ASSERT_EQ(at, SlowGap(all, first, last, floor, bytes)) << positions << " positions, question " << i;
      // Most where there is room; some where others are already, which must not matter.
      const int64_t begin = random() % 8 == 0 ? floor + random() % 40 : at;
      taken.Take(first, last, begin, begin + bytes);
      all.push_back({first, last, begin, begin + bytes});
    }
  }
}

}  // namespace
}  // namespace sbp
