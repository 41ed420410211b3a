#include "api/remat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/again.h"
#include "remat/policy.h"

namespace sbp {
namespace {

constexpr int64_t kLayers = 16;

constexpr double kStep = 100;

// A step of 100 s and what recomputation adds: a layer takes 10, 6, 4, 2 or 1 bytes and 0, 1, 3, 5 or 8 s.
struct Priced {
  int64_t bytes = 0;
  double seconds = kStep;
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

// A plan of the step and of what is computed again, an op each.
Plan PlanOf(const Priced& priced) {
  Plan plan;
  plan.graph.scopes = {"", std::string(kAgainScope)};
  plan.graph.ops.resize(2);
  plan.graph.ops[1].scope = 1;
  plan.records.resize(2);
  plan.op_records = {0, 1};
  plan.records[0].compute_seconds = kStep;
  plan.records[1].compute_seconds = priced.seconds - kStep;
  plan.total.compute_seconds = priced.seconds;
  return plan;
}

Result<RematChoice> ChooseWithin(int64_t limit) {
  return ChooseRemat(kLayers, [limit](const std::string& remat, std::optional<double>) -> Result<std::optional<Plan>> {
    const Priced priced = PriceOf(remat);
    if (priced.bytes > limit) return NoPlan("too large");
    return std::optional(PlanOf(priced));
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
    const auto choice =
        ChooseRemat(kLayers, [&](const std::string& remat, std::optional<double>) -> Result<std::optional<Plan>> {
          Plan plan;
          plan.options.memory_limit = 100;
          plan.memory.peak_bytes = peak;
          plan.total.compute_seconds = PriceOf(remat).seconds;
          return std::optional(plan);
        });
    EXPECT_EQ(choice.value().remat, "none");
    EXPECT_EQ(choice.value().tried.size(), tried);
  }
}

TEST(ChooseRematTest, NothingMoreIsTriedWhereTheLimitCostsLittle) {
  // Light fits; without the limit a step with it would take so many seconds at least.
  for (const auto& [bound, tried] : {std::pair<double, size_t>{99.1, 2}, {98.9, 3}}) {
    std::vector<std::string> asked;
    const auto choice = ChooseRemat(
        kLayers,
        [&](const std::string& remat, std::optional<double>) -> Result<std::optional<Plan>> {
          if (remat == "none") return NoPlan("too large");
          return std::optional(PlanOf({.bytes = 1, .seconds = kStep}));
        },
        nullptr,
        [&, bound = bound](const std::string& remat) {
          asked.push_back(remat);
          return bound;
        });
    EXPECT_EQ(choice.value().tried.size(), tried);
    EXPECT_EQ(asked, std::vector<std::string>({"light"}));
  }
}

TEST(ChooseRematTest, NothingLessIsTriedWhereItGainsLittle) {
  // All light fits, and costs less than a percent, or a little more: then half of the layers are tried, and so on.
  for (const auto& [seconds, tried] : {std::pair<double, size_t>{100.9, 3}, {101.1, 6}}) {
    const auto choice =
        ChooseRemat(kLayers, [&](const std::string& remat, std::optional<double>) -> Result<std::optional<Plan>> {
          const Priced priced = PriceOf(remat);
          if (priced.bytes > 6 * kLayers) return NoPlan("too large");
          return std::optional(PlanOf({.bytes = priced.bytes, .seconds = remat == "light" ? seconds : priced.seconds}));
        });
    EXPECT_EQ(choice.value().remat, "light");
    EXPECT_EQ(choice.value().tried.size(), tried);
  }
}

TEST(ChooseRematTest, TheSameGraphIsPlannedOnce) {
  // Selective is no other step than light, behind which it would be tried.
  std::vector<std::string> planned;
  const auto choice = ChooseRemat(
      kLayers,
      [&](const std::string& remat, std::optional<double>) -> Result<std::optional<Plan>> {
        planned.push_back(remat);
        if (remat == "none") return NoPlan("too large");
        return std::optional(PlanOf({.bytes = 1, .seconds = kStep}));
      },
      [](const std::string& remat) -> Result<std::string> { return remat == "selective" ? "light" : remat; });
  EXPECT_EQ(planned, std::vector<std::string>({"none", "light"}));
  EXPECT_EQ(ToString(choice.value()),
            "--remat light, of 2 plans: none: no plan was found that fits; light 100 s; selective makes the same graph "
            "as light");
}

TEST(ChooseRematTest, BehindTheFirstThatFitsOnlyWhatIsBetterIsPlanned) {
  // Light fits. Of selective it is proved that no plan takes less than that.
  std::optional<double> asked;
  const auto choice =
      ChooseRemat(kLayers, [&](const std::string& remat, std::optional<double> known) -> Result<std::optional<Plan>> {
        if (known) asked = known;
        if (remat == "none") return NoPlan("too large");
        return known ? std::nullopt : std::optional(PlanOf({.bytes = 1, .seconds = kStep}));
      });
  EXPECT_EQ(asked, kStep);
  EXPECT_EQ(ToString(choice.value()),
            "--remat light, of 2 plans: none: no plan was found that fits; light 100 s; selective: no plan is better");
}

TEST(ChooseRematTest, OnceTheTimeIsSpentTheFirstThatFitsIsTheAnswer) {
  const auto choice = ChooseRemat(
      kLayers,
      [](const std::string& remat, std::optional<double>) -> Result<std::optional<Plan>> {
        const Priced priced = PriceOf(remat);
        if (priced.bytes > 3 * kLayers) return NoPlan("too large");
        return std::optional(PlanOf(priced));
      },
      nullptr, nullptr, [] { return true; });
  EXPECT_EQ(ToString(choice.value()),
            "--remat alternate, of 4 plans: none: no plan was found that fits; light: no plan was found that fits; "
            "selective: no plan was found that fits; alternate 180 s; then the time was spent");
}

TEST(ChooseRematTest, ErrorWhereNothingFits) {
  const auto choice = ChooseWithin(3);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().code(), Code::kNoPlan);
}

}  // namespace
}  // namespace sbp
