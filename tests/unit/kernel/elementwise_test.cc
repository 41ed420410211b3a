#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernel/scalar/exp.h"
#include "unit/kernel/run_kernel.h"

namespace sbp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::NanSensitiveDoubleEq;
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

KernelRun Unary(const char* op, DType type, const std::vector<double>& x) {
  KernelRun run(op);
  const auto n = static_cast<int64_t>(x.size());
  run.In(type, {n}, x).Out(type, {n});
  return run;
}
KernelRun Binary(const char* op, DType type, const std::vector<double>& x, const std::vector<double>& y) {
  KernelRun run(op);
  const auto n = static_cast<int64_t>(x.size());
  run.In(type, {n}, x).In(type, {static_cast<int64_t>(y.size())}, y).Out(type, {n});
  return run;
}

TEST(Elementwise, ExpOfFloatsIsWithinOneUnit) {
  double worst = 0;
  for (float x = -87; x < 88; x += 0.00137f) {
    const double exact = std::exp(static_cast<double>(x));
    const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::abs(scalar::Exp(x) - exact) / unit);
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(scalar::Exp(0.0f), 1);
  EXPECT_EQ(scalar::Exp(89.0f), std::numeric_limits<float>::infinity());
  EXPECT_EQ(scalar::Exp(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_GT(scalar::Exp(-100.0f), 0);  // subnormal
  EXPECT_TRUE(std::isnan(scalar::Exp(std::nanf(""))));
}

TEST(Elementwise, TanhOfFloatsIsWithinTwoUnits) {
  for (float x = -12; x < 12; x += 0.00057f) {
    const double exact = std::tanh(static_cast<double>(x));
    EXPECT_LE(std::abs(scalar::Tanh(x) - exact), 2.5e-7 * std::abs(exact)) << x;
  }
  EXPECT_EQ(scalar::Tanh(1e-30f), 1e-30f);
  EXPECT_EQ(scalar::Tanh(1e30f), 1);
  EXPECT_TRUE(std::isnan(scalar::Tanh(std::nanf(""))));
}

TEST(Elementwise, RoundsHalfToEven) {
  EXPECT_THAT(Unary("Round", DType::kF32, {0.5, 1.5, 2.5, -0.5, -1.5, 1e30}).Doubles(),
              ElementsAre(0, 2, 2, -0.0, -2, static_cast<double>(1e30f)));
}

TEST(Elementwise, HalvesRoundOncePerOp) {
  // In f16 2048 + 1 is a tie that goes to the even 2048; 2048 + 3 to 2052.
  EXPECT_THAT(Binary("Add", DType::kF16, {2048, 2048, 65504}, {1, 3, 65504}).Doubles(),
              ElementsAre(2048, 2052, kInfinity));
  EXPECT_THAT(Binary("Mul", DType::kBF16, {256, 3}, {1.0078125, 1.0078125}).Doubles(), ElementsAre(258, 3.03125));
}

TEST(Elementwise, IntegersWrapAndDivideTowardsZero) {
  EXPECT_THAT(Binary("Add", DType::kI8, {127, -128}, {1, -1}).Doubles(), ElementsAre(-128, 127));
  EXPECT_THAT(Binary("Mul", DType::kU8, {200}, {2}).Doubles(), ElementsAre(144));
  EXPECT_THAT(Binary("Sub", DType::kU32, {0}, {1}).Doubles(), ElementsAre(4294967295.0));
  EXPECT_THAT(Binary("Div", DType::kI32, {7, -7, -2147483648.0}, {-2, 2, -1}).Doubles(),
              ElementsAre(-3, -3, -2147483648.0));
  KernelRun least("Div");
  least.In(TestTensor::Ints(DType::kI64, {1}, {INT64_MIN})).In(TestTensor::Ints(DType::kI64, {1}, {-1}));
  least.Out(DType::kI64, {1});
  ASSERT_TRUE(least.Run().ok());
  EXPECT_THAT(least.result(0).Ints(), ElementsAre(INT64_MIN));
  KernelRun large("Div");
  large.In(TestTensor::Ints(DType::kU64, {1}, {-1})).In(TestTensor::Ints(DType::kU64, {1}, {2})).Out(DType::kU64, {1});
  ASSERT_TRUE(large.Run().ok());
  EXPECT_THAT(large.result(0).Ints(), ElementsAre(INT64_MAX));
}

TEST(Elementwise, DividingIntegersByZeroIsAnError) {
  for (const char* op : {"Div", "Mod"}) {
    const Status status = Binary(op, DType::kI32, {1, 2}, {1, 0}).Run();
    EXPECT_EQ(status.code(), Code::kRunFailed);
    EXPECT_THAT(status.message(), HasSubstr("divided by 0"));
  }
  EXPECT_THAT(Binary("Div", DType::kF32, {1, -1}, {0, 0}).Doubles(), ElementsAre(kInfinity, -kInfinity));
}

TEST(Elementwise, ModFollowsTheDivisorOrTheDividend) {
  const std::vector<double> a = {-4, 7, 5, 4, -7, 8}, b = {2, -3, 8, -2, 3, 5};
  EXPECT_THAT(Binary("Mod", DType::kI32, a, b).Doubles(), ElementsAre(0, -2, 5, 0, 2, 3));
  EXPECT_THAT(Binary("Mod", DType::kI64, a, b).Set("fmod", int64_t{1}).Doubles(), ElementsAre(0, 1, 5, 0, -1, 3));
  EXPECT_THAT(Binary("Mod", DType::kF64, {-4.5, 7.5}, {2, -3}).Set("fmod", int64_t{1}).Doubles(),
              ElementsAre(-0.5, 1.5));
}

TEST(Elementwise, MaxAndMinKeepNan) {
  KernelRun run("Max");
  run.In(DType::kF32, {3}, {1, kNan, 3}).In(DType::kF32, {1}, {2}).In(DType::kF32, {3}, {0, 5, kNan});
  run.Out(DType::kF32, {3});
  const std::vector<double> y = run.Doubles();
  EXPECT_EQ(y[0], 2);
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[2]));
  EXPECT_THAT(Binary("Min", DType::kU64, {3}, {5}).Doubles(), ElementsAre(3));
}

TEST(Elementwise, PowTakesAnyExponentType) {
  KernelRun run("Pow");
  run.In(DType::kI32, {3}, {2, 3, -2}).In(DType::kF32, {3}, {0.5, 2, 3}).Out(DType::kI32, {3});
  EXPECT_THAT(run.Doubles(), ElementsAre(1, 9, -8));
  KernelRun floats("Pow");
  floats.In(DType::kF32, {3}, {2, 4, -8}).In(DType::kI64, {3}, {-1, 3, 3}).Out(DType::kF32, {3});
  EXPECT_THAT(floats.Doubles(), ElementsAre(0.5, 64, -512));
  KernelRun wraps("Pow");
  wraps.In(DType::kI64, {2}, {2, -1}).In(DType::kI64, {2}, {64, -3}).Out(DType::kI64, {2});
  EXPECT_THAT(wraps.Doubles(), ElementsAre(0, -1));
}

TEST(Elementwise, BitsAndShifts) {
  EXPECT_THAT(Binary("BitShift", DType::kU8, {0x81, 1, 1}, {1, 7, 8}).Doubles(), ElementsAre(2, 128, 0));
  EXPECT_THAT(Binary("BitShift", DType::kU8, {0x81, 255}, {1, 9}).Set("direction", std::string("RIGHT")).Doubles(),
              ElementsAre(0x40, 0));
  EXPECT_THAT(Binary("BitShift", DType::kI8, {-128, -1, 4, -4, 4}, {2, 9, 1, -1, -1})
                  .Set("direction", std::string("RIGHT"))
                  .Doubles(),
              ElementsAre(-32, -1, 2, -1, 0));
  EXPECT_THAT(Binary("BitShift", DType::kI32, {0x40000000, -1, 1}, {1, 31, -1}).Doubles(),
              ElementsAre(-2147483648.0, -2147483648.0, 0));
  EXPECT_THAT(Unary("BitwiseNot", DType::kI16, {0, -1, 5}).Doubles(), ElementsAre(-1, 0, -6));
  EXPECT_THAT(Unary("BitwiseNot", DType::kU32, {0}).Doubles(), ElementsAre(4294967295.0));
  EXPECT_THAT(Binary("BitwiseXor", DType::kI8, {-1, 12}, {5}).Doubles(), ElementsAre(-6, 9));
}

TEST(Elementwise, Predicates) {
  const std::vector<double> x = {1, kNan, kInfinity, -kInfinity};
  const auto run = [&](const char* op, int64_t negative, int64_t positive) {
    KernelRun r(op);
    r.In(DType::kF16, {4}, x).Out(DType::kBool, {4});
    if (std::string(op) == "IsInf") r.Set("detect_negative", negative).Set("detect_positive", positive);
    return r.Doubles();
  };
  EXPECT_THAT(run("IsNaN", 0, 0), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(run("IsInf", 1, 1), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(run("IsInf", 0, 1), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(run("IsInf", 1, 0), ElementsAre(0, 0, 0, 1));
  KernelRun greater("GreaterOrEqual");
  greater.In(TestTensor::Ints(DType::kU64, {2}, {-1, 0})).In(DType::kU64, {1}, {1}).Out(DType::kBool, {2});
  EXPECT_THAT(greater.Doubles(), ElementsAre(1, 0));
}

TEST(Elementwise, StretchesBothOperands) {
  KernelRun run("Sub");
  run.In(DType::kF32, {2, 1, 3}, {1, 2, 3, 4, 5, 6}).In(DType::kF32, {2, 1}, {10, 20}).Out(DType::kF32, {2, 2, 3});
  EXPECT_THAT(run.Doubles(), ElementsAre(-9, -8, -7, -19, -18, -17, -6, -5, -4, -16, -15, -14));
  KernelRun halves("Sub");  // the same through conversion
  halves.In(DType::kF16, {2, 1, 3}, {1, 2, 3, 4, 5, 6}).In(DType::kF16, {2, 1}, {10, 20}).Out(DType::kF16, {2, 2, 3});
  EXPECT_THAT(halves.Doubles(), ElementsAre(-9, -8, -7, -19, -18, -17, -6, -5, -4, -16, -15, -14));
}

TEST(Elementwise, LongLinesAreConvertedInBlocks) {
  std::vector<double> x(3000), y(3000);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i % 100);
    y[i] = static_cast<double>(i % 7);
  }
  const std::vector<double> sum = Binary("Add", DType::kI32, x, y).Doubles();
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(sum[i], x[i] + y[i]) << i;
}

TEST(Elementwise, ScalarsAndEmptyTensors) {
  KernelRun scalar("Add");
  scalar.In(DType::kF32, {}, {1}).In(DType::kF32, {}, {2}).Out(DType::kF32, {});
  EXPECT_THAT(scalar.Doubles(), ElementsAre(3));
  KernelRun empty("Add");
  empty.In(DType::kF32, {0, 2}, {}).In(DType::kF32, {2}, {1, 2}).Out(DType::kF32, {0, 2});
  EXPECT_TRUE(empty.Doubles().empty());
}

TEST(Elementwise, ShapesThatDoNotFitAreAnError) {
  EXPECT_FALSE(Binary("Add", DType::kF32, {1, 2, 3}, {1, 2}).Run().ok());
}

TEST(Elementwise, ComplexNumbers) {
  KernelRun run("Div");
  run.In(TestTensor::Complex({2}, {{1, 2}, {0, 1}})).In(TestTensor::Complex({1}, {{0, 1}})).Out(DType::kC128, {2});
  ASSERT_TRUE(run.Run().ok());
  EXPECT_THAT(run.result(0).Complex(), ElementsAre(std::complex<double>(2, -1), std::complex<double>(1, 0)));
}

TEST(Elementwise, NanHasNoSign) {
  EXPECT_THAT(Unary("Sign", DType::kF32, {-2, 0, 3, kNan}).Doubles(),
              ElementsAre(-1, 0, 1, NanSensitiveDoubleEq(kNan)));
  EXPECT_THAT(Unary("Abs", DType::kI8, {-128, -3}).Doubles(), ElementsAre(-128, 3));
}

}  // namespace
}  // namespace sbp
