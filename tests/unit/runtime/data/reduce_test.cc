#include "runtime/data/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace sbp {
namespace {

template <typename T>
std::vector<T> ReduceVectors(DType dtype, ReduceKind kind, const std::vector<std::vector<T>>& sources) {
  std::vector<const std::byte*> pointers;
  for (const std::vector<T>& source : sources) pointers.push_back(reinterpret_cast<const std::byte*>(source.data()));
  std::vector<T> target(sources[0].size());
  ReduceElements(dtype, kind, pointers, reinterpret_cast<std::byte*>(target.data()),
                 static_cast<int64_t>(target.size()));
  return target;
}

TEST(Reduce, SumsFromLeftToRight) {
  const std::vector<float> result =
      ReduceVectors<float>(DType::kF32, ReduceKind::kSum, {{1e8F, 1.F}, {-1e8F, 2.F}, {1.F, 3.F}, {0.F, 4.F}});
  EXPECT_THAT(result, ::testing::ElementsAre(1.F, 10.F));  // any other order loses the 1
}

TEST(Reduce, MaxAndMinPassNanOn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin}) {
    const std::vector<float> result = ReduceVectors<float>(DType::kF32, kind, {{nan, 1, 2}, {1, nan, 2}});
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1]));
    EXPECT_EQ(result[2], 2);
  }
}

TEST(Reduce, HalfIsCombinedInFloatAndRoundedOnce) {
  // 2048 + 1 + 1: each step alone would round back to 2048.
  const std::vector<uint16_t> sum =
      ReduceVectors<uint16_t>(DType::kF16, ReduceKind::kSum, {{0x6800}, {0x3c00}, {0x3c00}});
  EXPECT_EQ(sum[0], 0x6801);
  // The same for bf16: 256 + 1 + 1.
  const std::vector<uint16_t> brain =
      ReduceVectors<uint16_t>(DType::kBF16, ReduceKind::kSum, {{0x4380}, {0x3f80}, {0x3f80}});
  EXPECT_EQ(brain[0], 0x4381);
}

// One source alone is read and written back: every bit pattern must survive, NaN as a NaN.
TEST(Reduce, SixteenBitFloatsRoundTrip) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const uint16_t infinity = dtype == DType::kF16 ? 0x7c00 : 0x7f80;
    const std::vector<uint16_t> back = ReduceVectors<uint16_t>(dtype, ReduceKind::kMax, {all});
    for (size_t i = 0; i < all.size(); ++i) {
      if ((all[i] & 0x7fff) > infinity) {
        EXPECT_GT(back[i] & 0x7fff, infinity);
      } else {
        EXPECT_EQ(back[i], all[i]);
      }
    }
  }
}

TEST(Reduce, HalfRoundsToNearestEvenAndOverflowsToInfinity) {
  const struct {
    uint16_t a, b, product;
  } kRows[] = {
      {0x3c01, 0x3c01, 0x3c02},  // 1 + 2^-9 + 2^-20: down
      {0x7bff, 0x4000, 0x7c00},  // 65504 * 2
      {0x0001, 0x3800, 0x0000},  // 2^-24 / 2: a tie, to even
      {0x0003, 0x3800, 0x0002},  // 3 * 2^-25: a tie, to even
      {0x0400, 0x3bff, 0x0400},  // 2^-14 (1 - 2^-11): up to the smallest normal number
  };
  for (const auto& row : kRows) {
    const std::vector<uint16_t> result = ReduceVectors<uint16_t>(DType::kF16, ReduceKind::kProd, {{row.a}, {row.b}});
    EXPECT_EQ(result[0], row.product) << std::hex << row.a << " * " << row.b;
  }
}

TEST(Reduce, IntegersWrapAndBoolIsLogical) {
  EXPECT_EQ(ReduceVectors<int8_t>(DType::kI8, ReduceKind::kSum, {{127}, {1}})[0], -128);
  EXPECT_EQ(ReduceVectors<int64_t>(DType::kI64, ReduceKind::kSum, {{std::numeric_limits<int64_t>::max()}, {1}})[0],
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ReduceVectors<uint16_t>(DType::kU16, ReduceKind::kProd, {{0x100}, {0x101}})[0], 0x100);
  const std::vector<std::vector<uint8_t>> bools = {{0, 0, 1, 1}, {0, 1, 0, 1}};
  for (const ReduceKind kind : {ReduceKind::kMax, ReduceKind::kSum}) {
    EXPECT_THAT(ReduceVectors<uint8_t>(DType::kBool, kind, bools), ::testing::ElementsAre(0, 1, 1, 1));
  }
  for (const ReduceKind kind : {ReduceKind::kMin, ReduceKind::kProd}) {
    EXPECT_THAT(ReduceVectors<uint8_t>(DType::kBool, kind, bools), ::testing::ElementsAre(0, 0, 0, 1));
  }
}

TEST(Reduce, ComplexHasNoOrder) {
  using C = std::complex<float>;
  EXPECT_EQ(ReduceVectors<C>(DType::kC64, ReduceKind::kProd, {{C(0, 1)}, {C(0, 1)}})[0], C(-1, 0));
  EXPECT_EQ(CanReduce(DType::kC64, ReduceKind::kMax).message(), "partial values of type c64 cannot be combined by max");
  EXPECT_FALSE(CanReduce(DType::kF8E4M3FN, ReduceKind::kSum).ok());
  EXPECT_FALSE(CanReduce(DType::kString, ReduceKind::kSum).ok());
}

TEST(Reduce, NeutralElementsChangeNothing) {
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin}) {
    std::vector<float> floats(3);
    FillNeutral(DType::kF32, kind, reinterpret_cast<std::byte*>(floats.data()), 3);
    const std::vector<float> values = {-std::numeric_limits<float>::infinity(), -2.F, 3.F};
    EXPECT_EQ(ReduceVectors<float>(DType::kF32, kind, {floats, values}), values);
    std::vector<int8_t> bytes(2);
    FillNeutral(DType::kI8, kind, reinterpret_cast<std::byte*>(bytes.data()), 2);
    const std::vector<int8_t> extremes = {-128, 127};
    EXPECT_EQ(ReduceVectors<int8_t>(DType::kI8, kind, {bytes, extremes}), extremes);
  }
}

}  // namespace
}  // namespace sbp
