// Conversions: every value of the narrow floats there and back, rounding judged by the neighbours, and ONNX Cast.
#include "kernel/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/minifloat.h"
#include "kernel/scalar/half.h"
#include "unit/kernel/run_kernel.h"

namespace sbp {
namespace {

using testing::ElementsAre;
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

constexpr DType kNarrow[] = {DType::kF16,    DType::kBF16,       DType::kF8E4M3FN, DType::kF8E4M3FNUZ,
                             DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF4E2M1};

uint32_t Codes(DType type) { return 1u << DTypeBits(type); }

TEST(Minifloat, EveryValueEncodesToItself) {
  for (const DType type : kNarrow) {
    const FloatLayout layout = *LayoutOf(type);
    for (uint32_t code = 0; code < Codes(type); ++code) {
      const double value = DecodeMinifloat(layout, code);
      const uint32_t again = EncodeMinifloat(layout, value, false);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(DecodeMinifloat(layout, again))) << DTypeName(type) << " " << code;
      else
        EXPECT_EQ(again, code) << DTypeName(type) << " " << value;
    }
  }
}

// Between two neighbours the nearer one is taken, in the middle the one with the even code.
TEST(Minifloat, RoundsToTheNearestValue) {
  for (const DType type : kNarrow) {
    const FloatLayout layout = *LayoutOf(type);
    for (uint32_t code = 0; code + 1 < Codes(type) / 2; ++code) {
      const double low = DecodeMinifloat(layout, code), high = DecodeMinifloat(layout, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = low + (high - low) / 2;
      const uint32_t even = code % 2 == 0 ? code : code + 1;
      EXPECT_EQ(EncodeMinifloat(layout, middle, false), even) << DTypeName(type) << " " << middle;
      EXPECT_EQ(EncodeMinifloat(layout, std::nextafter(middle, 0.0), false), code);
      EXPECT_EQ(EncodeMinifloat(layout, std::nextafter(middle, kInfinity), false), code + 1);
      const uint32_t negative = EncodeMinifloat(layout, -std::nextafter(middle, kInfinity), false);
      EXPECT_EQ(negative, Codes(type) / 2 + code + 1);
    }
  }
}

// The fast 16-bit conversions agree with the general ones.
TEST(Minifloat, FastHalvesAgree) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const auto of_half = static_cast<float>(DecodeMinifloat(kF16Layout, code));
    const auto of_bfloat = static_cast<float>(DecodeMinifloat(kBF16Layout, code));
    if (std::isnan(of_half)) {
      EXPECT_TRUE(std::isnan(scalar::HalfToFloat(half)));
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(scalar::HalfToFloat(half)), std::bit_cast<uint32_t>(of_half));
    }
    if (!std::isnan(of_bfloat)) {
      EXPECT_EQ(scalar::BFloatToFloat(half), of_bfloat);
    }
  }
  // Every float with these high bits, and low bits around the ties.
  for (uint64_t high = 0; high < 65536; ++high) {
    for (const uint32_t low : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(high << 16) | low);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(scalar::HalfToFloat(scalar::FloatToHalf(value))));
        EXPECT_TRUE(std::isnan(scalar::BFloatToFloat(scalar::FloatToBFloat(value))));
        continue;
      }
      ASSERT_EQ(scalar::FloatToHalf(value), EncodeMinifloat(kF16Layout, value, false)) << value;
      ASSERT_EQ(scalar::FloatToBFloat(value), EncodeMinifloat(kBF16Layout, value, false)) << value;
    }
  }
}

std::vector<uint8_t> CastBytes(const std::vector<double>& values, DType to, int64_t saturate = 1,
                               const char* round_mode = "up") {
  KernelRun run("Cast");
  const auto n = static_cast<int64_t>(values.size());
  run.In(DType::kF32, {n}, values).Set("saturate", saturate).Set("round_mode", std::string(round_mode)).Out(to, {n});
  const Status status = run.Run();
  EXPECT_TRUE(status.ok()) << status.message();
  return run.result(0).Bytes();
}

TEST(Cast, ToFloat8) {
  const std::vector<double> values = {0.0, -0.0, kNan, kInfinity, -kInfinity, 1e6, -1e6, 1.0};
  EXPECT_THAT(CastBytes(values, DType::kF8E4M3FN), ElementsAre(0, 0x80, 0x7f, 0x7e, 0xfe, 0x7e, 0xfe, 0x38));
  EXPECT_THAT(CastBytes(values, DType::kF8E4M3FN, 0), ElementsAre(0, 0x80, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x38));
  EXPECT_THAT(CastBytes(values, DType::kF8E4M3FNUZ), ElementsAre(0, 0, 0x80, 0x7f, 0xff, 0x7f, 0xff, 0x40));
  EXPECT_THAT(CastBytes(values, DType::kF8E4M3FNUZ, 0), ElementsAre(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40));
  EXPECT_THAT(CastBytes(values, DType::kF8E5M2), ElementsAre(0, 0x80, 0x7e, 0x7b, 0xfb, 0x7b, 0xfb, 0x3c));
  EXPECT_THAT(CastBytes(values, DType::kF8E5M2, 0), ElementsAre(0, 0x80, 0x7e, 0x7c, 0xfc, 0x7c, 0xfc, 0x3c));
  EXPECT_THAT(CastBytes(values, DType::kF8E5M2FNUZ, 0), ElementsAre(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40));
}

TEST(Cast, ToScales) {
  const std::vector<double> values = {1.0, 1.25, 1.5, 1.75, 2.0, 0.0, kNan, kInfinity, 3e38, 0x1p-127};
  EXPECT_THAT(CastBytes(values, DType::kF8E8M0), ElementsAre(127, 128, 128, 128, 128, 0, 255, 255, 254, 0));
  EXPECT_THAT(CastBytes(values, DType::kF8E8M0, 1, "down"), ElementsAre(127, 127, 127, 127, 128, 0, 255, 255, 254, 0));
  EXPECT_THAT(CastBytes(values, DType::kF8E8M0, 0, "nearest"),
              ElementsAre(127, 127, 128, 128, 128, 0, 255, 255, 255, 0));
}

TEST(Cast, PacksSmallTypes) {
  EXPECT_THAT(CastBytes({1, -2, 7, -8, 3}, DType::kI4), ElementsAre(0xe1, 0x87, 0x03));
  EXPECT_THAT(CastBytes({1, 2, 3, 0, 1}, DType::kU2), ElementsAre(0b00111001, 0b01));
  // 0, 0.5, 1, 1.5, 2, 3, 4, 6; ties to even; no infinity, no NaN.
  EXPECT_THAT(CastBytes({0.25, 0.75, 5, 100, -kInfinity, 0.26}, DType::kF4E2M1), ElementsAre(0x20, 0x76, 0x1f));
  EXPECT_THAT(CastBytes({kNan, -kNan}, DType::kF4E2M1), ElementsAre(0x08));
  KernelRun back("Cast");
  back.In(TestTensor::Bytes(DType::kI4, {5}, {0xe1, 0x87, 0x03})).Out(DType::kF32, {5});
  EXPECT_THAT(back.Doubles(), ElementsAre(1, -2, 7, -8, 3));
  KernelRun small("Cast");
  small.In(TestTensor::Bytes(DType::kF4E2M1, {3}, {0x7f, 0x01})).Out(DType::kF16, {3});
  EXPECT_THAT(small.Doubles(), ElementsAre(-6, 6, 0.5));
}

TEST(Cast, FloatsToIntegers) {
  KernelRun run("Cast");
  run.In(DType::kF64, {6}, {1.9, -1.9, 3e9, -3e9, kNan, kInfinity}).Out(DType::kI32, {6});
  EXPECT_THAT(run.Doubles(), ElementsAre(1, -1, 2147483647, -2147483648.0, 0, 2147483647));
  KernelRun wide("Cast");
  wide.In(DType::kF64, {4}, {0x1p63, -0x1p63, kInfinity, -0.5}).Out(DType::kI64, {4});
  ASSERT_TRUE(wide.Run().ok());
  EXPECT_THAT(wide.result(0).Ints(), ElementsAre(INT64_MAX, INT64_MIN, INT64_MAX, 0));
  KernelRun logical("Cast");
  logical.In(DType::kF32, {4}, {0, -0.0, 0.5, kNan}).Out(DType::kBool, {4});
  EXPECT_THAT(logical.Doubles(), ElementsAre(0, 0, 1, 1));
}

TEST(Cast, IntegersWrap) {
  KernelRun run("Cast");
  run.In(TestTensor::Ints(DType::kI64, {4}, {300, -1, 128, INT64_MIN})).Out(DType::kI8, {4});
  EXPECT_THAT(run.Doubles(), ElementsAre(44, -1, -128, 0));
  KernelRun large("Cast");
  large.In(TestTensor::Ints(DType::kU64, {1}, {-1})).Out(DType::kF64, {1});
  EXPECT_THAT(large.Doubles(), ElementsAre(0x1p64));
  // One rounding: through f64 this would end one unit off.
  KernelRun once("Cast");
  once.In(TestTensor::Ints(DType::kI64, {1}, {(int64_t{1} << 60) + (int64_t{1} << 36) + 1})).Out(DType::kF32, {1});
  EXPECT_THAT(once.Doubles(), ElementsAre(0x1p60 + 0x1p37));
}

// f64 to f16 is rounded once: through f32 the tie would be lost.
TEST(Cast, DoublesToHalvesRoundOnce) {
  KernelRun run("Cast");
  run.In(DType::kF64, {2}, {1 + 0x1p-11 + 0x1p-40, 65520}).Out(DType::kF16, {2});
  EXPECT_THAT(run.Doubles(), ElementsAre(1 + 0x1p-10, kInfinity));
}

TEST(Convert, EveryPairOfTypesKeepsSmallNumbers) {
  for (int from = 1; from <= 26; ++from) {
    for (int to = 1; to <= 26; ++to) {
      const auto a = static_cast<DType>(from), b = static_cast<DType>(to);
      if (a == DType::kString || b == DType::kString) continue;
      KernelRun run("Cast");
      run.In(a, {1}, {1}).Out(b, {1});
      EXPECT_THAT(run.Doubles(), ElementsAre(1)) << DTypeName(a) << " to " << DTypeName(b);
    }
  }
}

}  // namespace
}  // namespace sbp
