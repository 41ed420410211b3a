// Prices of memory: the bundle climbs concave functions that are the least of some planes.
#include "search/price_bundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "search/folded_time.h"
#include "search/priced_memory.h"
#include "search/random.h"

namespace sbp {
namespace {

struct Plane {
  double at_zero;
  std::vector<double> slope;
};

double ValueOf(const Plane& plane, std::span<const double> prices) {
  double value = plane.at_zero;
  for (size_t i = 0; i < prices.size(); ++i) value += plane.slope[i] * prices[i];
  return value;
}

const Plane& LeastAt(const std::vector<Plane>& planes, std::span<const double> prices) {
  return *std::ranges::min_element(planes, {}, [&](const Plane& plane) { return ValueOf(plane, prices); });
}

// Prices of any sizes: |p - target| from below, by tangents; its best is at `target`.
TEST(PriceBundle, ClimbsToTheTop) {
  const std::vector<double> target = {3, 0, 500, 0.5};
  std::vector<Plane> planes;
  for (int signs = 0; signs < 16; ++signs) {
    Plane plane{1000, {}};
    for (size_t i = 0; i < target.size(); ++i) {
      const double slope = ((signs >> i) & 1) != 0 ? 2.0 : -1.0;
      plane.slope.push_back(slope);
      plane.at_zero -= slope * target[i];
    }
    planes.push_back(plane);
  }
  PriceBundle bundle(target.size());
  int steps = 0;
  for (bool goes_on = true; goes_on && steps < 200; ++steps) {
    const Plane& plane = LeastAt(planes, bundle.next());
    goes_on = bundle.Note(ValueOf(plane, bundle.next()), plane.slope, 1100);
    for (const double price : bundle.next()) EXPECT_GE(price, 0);
  }
  EXPECT_LT(steps, 100);
  EXPECT_GT(bundle.bound(), 999);
  EXPECT_LE(bundle.bound(), 1000);
}

// From wherever it begins it gets no worse, and what it says of its centre is what was noted there.
TEST(PriceBundle, NeverLosesTheBest) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<Plane> planes(12);
    for (Plane& plane : planes) {
      plane.at_zero = random.Below(1000);
      for (int i = 0; i < 5; ++i) plane.slope.push_back(random.Below(21) - 10);
    }
    planes.push_back({2000, {-1, -1, -1, -1, -1}});  // so that there is a top
    PriceBundle bundle(5);
    double best = -1e300;
    for (int step = 0; step < 40; ++step) {
      const Plane& plane = LeastAt(planes, bundle.next());
      const double value = ValueOf(plane, bundle.next());
      const bool goes_on = bundle.Note(value, plane.slope, 2500);
      EXPECT_EQ(bundle.bound(), ValueOf(LeastAt(planes, bundle.center()), bundle.center()));
      EXPECT_GE(bundle.bound(), best);
      best = bundle.bound();
      if (!goes_on) break;
    }
    EXPECT_GE(best, ValueOf(LeastAt(planes, std::vector<double>(5, 0)), std::vector<double>(5, 0)));
  }
}

TEST(FoldTime, AlikeMomentsAreOne) {
  // Three layers that hold 1 in turn, and 0 for good; the limit is another at the last step.
  const std::vector<HeldSpan> spans = {{0, 0, 6}, {1, 0, 1}, {1, 2, 3}, {1, 4, 5}};
  const FoldedTime time = FoldTime(spans, std::vector<double>{9, 9, 9, 9, 9, 8});
  EXPECT_EQ(time.class_of, (std::vector<int32_t>{0, 1, 0, 1, 0, 2}));
  EXPECT_EQ(time.first, (std::vector<int32_t>{0, 1, 5}));
  EXPECT_EQ(time.copies, (std::vector<int32_t>{3, 2, 1}));
  EXPECT_EQ(time.Place(0), 0);
  EXPECT_EQ(time.Place(2), 2);
  EXPECT_EQ(time.Place(6), 3);
}

TEST(PricedMemory, CostsAreTheDualsAndComeBack) {
  Core core;
  core.nodes.push_back({{1, 2}, {{0, 1, {5, 0}}, {1, 3, {1, 2}}}, {}});
  core.limits = {4, 4, 4};
  MakeLinks(core);
  {
    const PricedMemory priced(core, std::vector<double>{1, 10, 0.5});
    EXPECT_EQ(core.nodes[0].costs, (std::vector<double>{1 + 5 + 10, 2 + 21}));  // 10.5 and 21, rounded down
    EXPECT_EQ(core.steps(), 0);
    EXPECT_EQ(CostOf(core, std::vector<int32_t>{1}), 23);
  }
  EXPECT_EQ(core.nodes[0].costs, (std::vector<double>{1, 2}));
  EXPECT_EQ(core.steps(), 3);
  EXPECT_EQ(UsageOf(core, std::vector<int32_t>{0}), (std::vector<double>{5, 1, 1}));
}

}  // namespace
}  // namespace sbp
