#include "stablehlo/known.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {
namespace {

std::optional<int64_t> Folded(std::string_view op, const std::vector<int64_t>& numbers, DType operand = DType::kI32,
                              DType result = DType::kI32, std::string_view direction = "") {
  std::vector<ValueRef> values;
  values.reserve(numbers.size());
  for (const int64_t number : numbers) values.push_back(Writer::Known(number, operand));
  const ValueRef made = FoldKnown(op, values, direction, TensorType{result, {}});
  return made == nullptr ? std::nullopt : KnownNumber(*made);
}

TEST(KnownTest, CountersAndWhatIsMadeOfThem) {
  EXPECT_EQ(Folded("stablehlo.add", {3, 4}), 7);
  EXPECT_EQ(Folded("stablehlo.subtract", {3, 4}), -1);
  EXPECT_EQ(Folded("stablehlo.select", {0, 5, 6}), 6);
  EXPECT_EQ(Folded("stablehlo.clamp", {0, 9, 6}), 6);
  EXPECT_EQ(Folded("stablehlo.compare", {3, 4}, DType::kI32, DType::kBool, "LT"), 1);
  EXPECT_EQ(Folded("stablehlo.compare", {3, 4}, DType::kI32, DType::kBool, "GE"), 0);
  EXPECT_EQ(Folded("stablehlo.not", {0}, DType::kBool, DType::kBool), 1);
  EXPECT_EQ(Folded("stablehlo.convert", {7}, DType::kBool, DType::kBool), 1);
}

TEST(KnownTest, WhatDoesNotFitTheTypeIsComputedWhenItRuns) {
  EXPECT_EQ(Folded("stablehlo.add", {2147483647, 1}), std::nullopt);
  EXPECT_EQ(Folded("stablehlo.subtract", {0, 1}, DType::kU32, DType::kU32), std::nullopt);
  EXPECT_EQ(Folded("stablehlo.negate", {std::numeric_limits<int64_t>::min()}, DType::kI64, DType::kI64), std::nullopt);
  EXPECT_EQ(Folded("stablehlo.divide", {1, 0}), std::nullopt);
  EXPECT_EQ(Folded("stablehlo.power", {2, 3}), std::nullopt);
  // A number of 64 bits without a sign that reads as negative.
  EXPECT_EQ(Folded("stablehlo.maximum", {-1, 3}, DType::kU64, DType::kU64), std::nullopt);
}

TEST(KnownTest, ElementsOfConstantsAndCounts) {
  Value counts;
  counts.type = {DType::kI32, {4, 6}};
  counts.iota = 1;
  EXPECT_EQ(KnownElement(counts, {2, 5}), 5);
  Value constant;
  constant.literal = std::make_shared<const Literal>(Literal::Ints({4, 5, 6}));
  constant.type = constant.literal->type;
  EXPECT_EQ(KnownElement(constant, {2}), 6);
  EXPECT_EQ(KnownElement(constant, {3}), std::nullopt);
}

}  // namespace
}  // namespace sbp::stablehlo
