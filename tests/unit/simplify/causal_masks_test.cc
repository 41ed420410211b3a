#include "simplify/causal_masks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "base/dtype.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp::simplify {
namespace {

constexpr int64_t kQueries = 5, kKeys = 8, kPast = 3;

MaybePlaces MaskOf(DType dtype, const std::function<double(int64_t q, int64_t k)>& element) {
  Literal literal;
  literal.type = {dtype, {1, 1, kQueries, kKeys}};
  for (int64_t q = 0; q < kQueries; ++q) {
    for (int64_t k = 0; k < kKeys; ++k) {
      if (dtype == DType::kBool) literal.ints.push_back(static_cast<int64_t>(element(q, k)));
      if (dtype != DType::kBool) literal.floats.push_back(element(q, k));
    }
  }
  return PlacesOf(literal);
}

std::optional<KeyWindow> Window(const MaybePlaces& mask, const KeyWindow& before = {}) {
  EXPECT_TRUE(mask.has_value());
  return WindowOf(*mask, before, kQueries, kKeys, kPast);
}

// Whatever window is found lets through exactly what the mask and the window before let through.
TEST(CausalMasksTest, WindowsAreThoseOfTheMask) {
  int found = 0;
  for (int64_t left = -1; left <= kKeys; ++left) {
    for (int64_t right = -2; right <= kKeys; ++right) {
      for (int64_t before = -1; before <= 1; ++before) {
        const auto seen = [&](int64_t q, int64_t k) {
          return (left < 0 || k >= q + kPast - left) && k <= q + kPast + right;
        };
        const MaybePlaces mask = MaskOf(DType::kBool, [&](int64_t q, int64_t k) { return seen(q, k) ? 1 : 0; });
        ASSERT_TRUE(mask.has_value());
        KeyWindow given;
        if (before >= 0) given.right = before;
        const std::optional<KeyWindow> window = Window(mask, given);
        if (!window) continue;
        ++found;
        for (int64_t q = 0; q < kQueries; ++q) {
          for (int64_t k = 0; k < kKeys; ++k) {
            const int64_t own = q + kPast;
            const bool by_window =
                (!window->left || k >= own - *window->left) && (!window->right || k <= own + *window->right);
            EXPECT_EQ(by_window, seen(q, k) && (before < 0 || k <= own + before));
          }
        }
      }
    }
  }
  EXPECT_GE(found, 200);
}

TEST(CausalMasksTest, ACausalMaskIsOneInEverySpelling) {
  const auto hidden = [](double low) { return [low](int64_t q, int64_t k) { return k <= q + kPast ? 0 : low; }; };
  const KeyWindow causal = {std::nullopt, 0};
  EXPECT_EQ(Window(MaskOf(DType::kF32, hidden(-std::numeric_limits<double>::infinity()))), causal);
  EXPECT_EQ(Window(MaskOf(DType::kF32, hidden(std::numeric_limits<float>::lowest()))), causal);
  EXPECT_EQ(Window(MaskOf(DType::kF16, hidden(-65504))), causal);
  EXPECT_EQ(Window(MaskOf(DType::kF32, hidden(-100))), std::nullopt);  // a great score is seen through it
  EXPECT_EQ(Window(MaskOf(DType::kF32, hidden(1))), std::nullopt);
}

TEST(CausalMasksTest, OneRowOfKeysHoldsForAllQueries) {
  const PlaceValue first = {{1, 1, 1, kKeys}, DType::kBool, PlaceSum{0, {{3, {1, 1, 1, 1, 1, 0, 0, 0}}}}};
  EXPECT_EQ(WindowOf(first, {}, kQueries, kKeys, kPast), std::nullopt);  // padding is no window
  const PlaceValue all = {{kKeys}, DType::kBool, PlaceSum{1, {}}};
  EXPECT_EQ(WindowOf(all, {}, kQueries, kKeys, kPast), KeyWindow());
  const PlaceValue none = {{kKeys}, DType::kBool, PlaceSum{0, {}}};
  EXPECT_EQ(WindowOf(none, {}, kQueries, kKeys, kPast), std::nullopt);
  EXPECT_EQ(WindowOf(first, {}, 1, kKeys, 4), (KeyWindow{std::nullopt, 0}));  // the only query is at 4
  EXPECT_EQ(WindowOf(all, {}, kQueries, kKeys + 1, kPast), std::nullopt);     // of another length
}

}  // namespace
}  // namespace sbp::simplify
