#include "runtime/run/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/runtime/graphs.h"

namespace sbp {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

Value F64(const std::vector<double>& values) {
  return TestTensor(DType::kF64, {static_cast<int64_t>(values.size())}, values);
}

struct CompareRow {
  std::vector<double> out, ref;
  double relative_error, max_abs_error;
  int64_t outside, nan;  // outside 0.1 + 0.5 |ref|
};

TEST(Compare, Rows) {
  const CompareRow rows[] = {
      {{1, 2}, {1, 2}, 0, 0, 0, 0},
      {{}, {}, 0, 0, 0, 0},
      {{3, 8}, {3, 4}, 0.8, 4, 1, 0},
      {{1.5, 4}, {1, 4}, 0.5 / std::sqrt(17.0), 0.5, 0, 0},  // within: 0.1 + 0.5
      {{3, 4}, {0, 0}, 5, 4, 2, 0},                          // nothing to relate to
      {{kNaN, 1}, {1, 1}, kInf, kInf, 1, 1},
      {{1, 1}, {kNaN, 1}, kInf, kInf, 1, 0},
      {{kNaN, 1}, {kNaN, 1}, 0, 0, 0, 0},
      {{kInf, -kInf, 1}, {kInf, -kInf, 1}, 0, 0, 0, 0},
      {{kInf, 1}, {-kInf, 1}, kInf, kInf, 1, 0},
      {{kInf, 4}, {kInf, 2}, 1, 2, 1, 0},            // infinities have no part in the norm
      {{1e300, 0}, {2e300, 0}, 0.5, 1e300, 0, 0},    // squares do not overflow
      {{1e-300, 0}, {2e-300, 0}, 0.5, 1e-300, 0, 0}  // nor vanish
  };
  for (const CompareRow& row : rows) {
    const Result<Difference> d = Compare(F64(row.out), F64(row.ref), {.rtol = 0.5, .atol = 0.1});
    ASSERT_TRUE(d.ok());
    const std::string what = ToText(F64(row.out)) + " against " + ToText(F64(row.ref));
    EXPECT_DOUBLE_EQ(d->relative_error, row.relative_error) << what;
    EXPECT_DOUBLE_EQ(d->max_abs_error, row.max_abs_error) << what;
    EXPECT_EQ(d->outside, row.outside) << what;
    EXPECT_EQ(d->nan, row.nan) << what;
    EXPECT_EQ(d->elements, static_cast<int64_t>(row.out.size())) << what;
  }
}

TEST(Compare, SequencesEntryByEntry) {
  const Value s = TestSequence({F64({1, 2}), F64({4})}), t = TestSequence({F64({1, 2}), F64({3})});
  const Result<Difference> d = Compare(s, t, {.rtol = 0.1, .atol = 0});
  ASSERT_TRUE(d.ok());
  EXPECT_DOUBLE_EQ(d->relative_error, 1.0 / 3);
  EXPECT_EQ(d->outside, 1);
  EXPECT_EQ(d->elements, 3);
  Value none;
  none.none = true;
  EXPECT_EQ(Compare(none, none)->elements, 0);
  const auto message = [](const Value& a, const Value& b) { return Compare(a, b).status().message(); };
  EXPECT_EQ(message(s, TestSequence({F64({1, 2})})), "is a sequence of 2; expected a sequence of 1");
  EXPECT_EQ(message(s, TestSequence({F64({1, 2}), F64({4, 5})})), "entry 1: is f64[1]; expected f64[2]");
  EXPECT_EQ(message(s, F64({1})), "is a sequence of 2; expected f64[1]");
  EXPECT_EQ(message(none, F64({1})), "is an empty optional; expected f64[1]");
}

TEST(Compare, IntegersOf64BitsAreExact) {
  Value a = MakeTensor(DType::kI64, {2}).value(), b = MakeTensor(DType::kI64, {2}).value();
  constexpr int64_t kLarge = (int64_t{1} << 62) + 1;  // no double
  a.view.as<int64_t>()[0] = kLarge;
  b.view.as<int64_t>()[0] = kLarge - 1;
  EXPECT_EQ(Compare(a, b)->max_abs_error, 1);
  EXPECT_EQ(Compare(a, b)->outside, 1);
  b.view.as<int64_t>()[0] = kLarge;
  EXPECT_EQ(Compare(a, b)->max_abs_error, 0);
  a.view.as<int64_t>()[1] = std::numeric_limits<int64_t>::max();
  b.view.as<int64_t>()[1] = std::numeric_limits<int64_t>::min();
  EXPECT_DOUBLE_EQ(Compare(a, b)->max_abs_error, 0x1p64);  // no overflow
}

TEST(Compare, TypesMayDifferShapesMayNot) {
  const Value f32 = TestTensor(DType::kF32, {2}, {1, 2}), f16 = TestTensor(DType::kF16, {2}, {1, 3});
  EXPECT_EQ(Compare(f16, f32)->max_abs_error, 1);
  Value complex = MakeTensor(DType::kC64, {1}).value(), other = MakeTensor(DType::kC64, {1}).value();
  complex.view.as<float>()[1] = 2;
  EXPECT_EQ(Compare(complex, other)->max_abs_error, 2);
  EXPECT_EQ(Compare(complex, other)->elements, 2);
  const Result<Difference> shapes = Compare(f32, TestTensor(DType::kF32, {1, 2}, {1, 2}));
  EXPECT_EQ(shapes.status().code(), Code::kMismatch);
  EXPECT_EQ(shapes.status().message(), "is f32[2]; expected f32[1,2]");
  EXPECT_EQ(Compare(TestSequence({f32}), f32).status().message(), "is a sequence of 1; expected f32[2]");
}

TEST(Compare, FindsNaN) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    EXPECT_TRUE(HasNaN(TestTensor(dtype, {3}, {1, 2, kNaN}).view)) << DTypeName(dtype);
    EXPECT_FALSE(HasNaN(TestTensor(dtype, {3}, {1, kInf, -kInf}).view)) << DTypeName(dtype);
  }
  EXPECT_FALSE(HasNaN(TestTensor(DType::kI32, {1}, {1}).view));
}

// Tensors are looked at block by block, and to their ends.
TEST(Compare, LongTensors) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    std::vector<double> numbers(2500, 1);
    const Value ref = TestTensor(dtype, {2500}, numbers);
    for (const size_t place : {size_t{1023}, size_t{1024}, size_t{2499}}) {
      numbers.assign(2500, 1);
      numbers[place] = 3;
      const Result<Difference> difference = Compare(TestTensor(dtype, {2500}, numbers), ref);
      EXPECT_EQ(difference->outside, 1) << DTypeName(dtype) << " " << place;
      EXPECT_DOUBLE_EQ(difference->relative_error, 2 / std::sqrt(2500.0));
      numbers[place] = kNaN;
      EXPECT_TRUE(HasNaN(TestTensor(dtype, {2500}, numbers).view)) << DTypeName(dtype) << " " << place;
    }
    EXPECT_EQ(Compare(ref, ref)->elements, 2500);
  }
}

TEST(Compare, ToleranceFollowsTheCoarsestFloat) {
  const auto tolerance = [](const std::string& type) {
    return DefaultTolerance(MakeTestGraph(R"("inputs": [{"name": "x", "type": ")" + type + R"([2]"}],
        "ops": [{"name": "n", "type": "Neg", "inputs": ["x"], "outputs": ["y"]}], "outputs": ["y"])"));
  };
  EXPECT_EQ(tolerance("f64"), 1e-10);
  EXPECT_EQ(tolerance("f32"), 1e-4);
  EXPECT_EQ(tolerance("bf16"), 2e-2);
  EXPECT_EQ(tolerance("i64"), 1e-10);
}

}  // namespace
}  // namespace sbp
