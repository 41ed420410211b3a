#include "api/remat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "remat/policy.h"

namespace sbp {
namespace {

constexpr int64_t kLayers = 16;

// A step of 100 s and what recomputation adds: a layer takes 10, 6, 4, 2 or 1 bytes and 0, 1, 3, 5 or 8 s.
struct Priced {
  int64_t bytes = 0;
  double seconds = 100;
};
Priced PriceOf(const std::string& remat) {
  constexpr int64_t kBytes[] = {10, 6, 4, 2, 1};
  constexpr double kSeconds[] = {0, 1, 3, 5, 8};
  const std::vector<RematEntry> entries = ParseRemat(remat).value();
  Priced priced;
  int64_t left = kLayers;
  const auto add = [&](int64_t count, RematPolicy policy) {
    priced.bytes += count * kBytes[static_cast<size_t>(policy)];
    priced.seconds += static_cast<double>(count) * kSeconds[static_cast<size_t>(policy)];
    left -= count;
  };
  for (const RematEntry& entry : entries) add(entry.count < 0 ? left : entry.count, entry.policy);
  add(left, RematPolicy::kNone);
  return priced;
}

Result<RematChoice> ChooseWithin(int64_t limit) {
  return ChooseRemat(kLayers, [limit](const std::string& remat) -> Result<Plan> {
    const Priced priced = PriceOf(remat);
    if (priced.bytes > limit) return NoPlan("too large");
    Plan plan;
    plan.total.compute_seconds = priced.seconds;
    return plan;
  });
}

TEST(ChooseRematTest, FewestLayersThatFit) {
  // The cheapest mix of the row, found by asking all of it; halving ends within an eighth of the layers.
  for (int64_t limit = kLayers; limit <= 10 * kLayers; limit += 7) {
    double best = 1e9;
    for (const char* form : {"light:%", "selective:%,light", "alternate:%,selective", "full:%,alternate"}) {
      for (int64_t n = 0; n <= kLayers; ++n) {
        std::string remat = form;
        remat.replace(remat.find('%'), 1, std::to_string(n));
        const Priced priced = PriceOf(remat);
        if (priced.bytes <= limit) best = std::min(best, priced.seconds);
      }
    }
    const RematChoice choice = ChooseWithin(limit).value();
    EXPECT_LE(choice.tried.size(), 8U);
    EXPECT_LE(PriceOf(choice.remat).bytes, limit);
    EXPECT_LE(choice.plan.total.seconds(), best + 8.0 * kLayers / 8) << choice.remat << " for " << limit;
  }
}

TEST(ChooseRematTest, NothingWhereAllFits) {
  const RematChoice choice = ChooseWithin(1000).value();
  EXPECT_EQ(choice.remat, "none");
  EXPECT_EQ(ToString(choice), "--remat none, of 2 plans: none 100 s; light 116 s");
}

TEST(ChooseRematTest, NothingMoreIsTriedWhereThereIsRoom) {
  for (const auto& [peak, tried] : {std::pair<int64_t, size_t>{79, 1}, {81, 2}}) {
    const auto choice = ChooseRemat(kLayers, [&](const std::string& remat) -> Result<Plan> {
      Plan plan;
      plan.options.memory_limit = 100;
      plan.memory.peak_bytes = peak;
      plan.total.compute_seconds = PriceOf(remat).seconds;
      return plan;
    });
    EXPECT_EQ(choice.value().remat, "none");
    EXPECT_EQ(choice.value().tried.size(), tried);
  }
}

TEST(ChooseRematTest, ErrorWhereNothingFits) {
  const auto choice = ChooseWithin(3);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().code(), Code::kNoPlan);
}

}  // namespace
}  // namespace sbp
