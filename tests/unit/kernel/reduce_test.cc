// Reductions, running sums, order and choice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/kernel/run_kernel.h"

namespace sbp {
namespace {

using testing::ElementsAre;
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> Reduce(const char* op, DType type, Shape shape, const std::vector<double>& x,
                           const std::vector<double>& axes, Shape result) {
  KernelRun run(op);
  run.In(type, std::move(shape), x).In(DType::kI64, {static_cast<int64_t>(axes.size())}, axes);
  run.Out(type, std::move(result));
  return run.Doubles();
}

TEST(Reduce, AnyAxes) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_THAT(Reduce("ReduceSum", DType::kF32, {2, 3, 2}, x, {1}, {2, 1, 2}), ElementsAre(9, 12, 27, 30));
  EXPECT_THAT(Reduce("ReduceSum", DType::kF16, {2, 3, 2}, x, {0, -1}, {1, 3, 1}), ElementsAre(18, 26, 34));
  EXPECT_THAT(Reduce("ReduceMax", DType::kI32, {2, 3, 2}, x, {0}, {1, 3, 2}), ElementsAre(7, 8, 9, 10, 11, 12));
  EXPECT_THAT(Reduce("ReduceProd", DType::kI64, {2, 3, 2}, x, {}, {1, 1, 1}), ElementsAre(479001600));
  EXPECT_THAT(Reduce("ReduceSum", DType::kI8, {3}, {100, 100, 1}, {0}, {1}), ElementsAre(-55));
}

TEST(Reduce, NoAxes) {
  KernelRun run("ReduceSum");
  run.In(DType::kF32, {2}, {1, 2}).Set("noop_with_empty_axes", int64_t{1}).Out(DType::kF32, {2});
  EXPECT_THAT(run.Doubles(), ElementsAre(1, 2));
}

TEST(Reduce, LongSumsOfFloatsKeepTheirDigits) {
  std::vector<double> x(100000, 0.1f);
  EXPECT_FLOAT_EQ(static_cast<float>(Reduce("ReduceSum", DType::kF32, {100000}, x, {0}, {1})[0]),
                  static_cast<float>(100000 * static_cast<double>(0.1f)));
}

TEST(Reduce, EmptySets) {
  EXPECT_THAT(Reduce("ReduceSum", DType::kF32, {2, 0}, {}, {1}, {2, 1}), ElementsAre(0, 0));
  EXPECT_THAT(Reduce("ReduceProd", DType::kI32, {2, 0}, {}, {1}, {2, 1}), ElementsAre(1, 1));
  EXPECT_THAT(Reduce("ReduceMax", DType::kF16, {1, 0}, {}, {1}, {1, 1}), ElementsAre(-kInfinity));
  EXPECT_THAT(Reduce("ReduceMin", DType::kF32, {1, 0}, {}, {1}, {1, 1}), ElementsAre(kInfinity));
  EXPECT_THAT(Reduce("ReduceMax", DType::kI8, {2, 0}, {}, {1}, {2, 1}), ElementsAre(-128, -128));
  EXPECT_THAT(Reduce("ReduceMin", DType::kU16, {1, 0}, {}, {1}, {1, 1}), ElementsAre(65535));
  EXPECT_THAT(Reduce("ReduceMin", DType::kBool, {1, 0}, {}, {1}, {1, 1}), ElementsAre(1));
}

TEST(Reduce, NanWins) {
  EXPECT_TRUE(std::isnan(Reduce("ReduceMax", DType::kF32, {3}, {1, kNan, 3}, {0}, {1})[0]));
  std::vector<double> x(64, 1);
  x[40] = kNan;
  EXPECT_TRUE(std::isnan(Reduce("ReduceMin", DType::kF64, {64}, x, {0}, {1})[0]));
}

TEST(ArgReduce, TiesAndAxes) {
  const auto arg = [](const char* op, int64_t last) {
    KernelRun run(op);
    run.In(DType::kF32, {2, 3}, {2, 2, 1, 3, 10, 10}).Set("axis", int64_t{1}).Set("select_last_index", last);
    run.Out(DType::kI64, {2, 1});
    return run.Doubles();
  };
  EXPECT_THAT(arg("ArgMax", 0), ElementsAre(0, 1));
  EXPECT_THAT(arg("ArgMax", 1), ElementsAre(1, 2));
  EXPECT_THAT(arg("ArgMin", 1), ElementsAre(2, 0));
}

TEST(Cumulative, ExclusiveAndReverse) {
  const auto sum = [](int64_t exclusive, int64_t reverse, DType type) {
    KernelRun run("CumSum");
    run.In(type, {2, 3}, {1, 2, 3, 4, 5, 6}).In(DType::kI32, {}, {-1});
    run.Set("exclusive", exclusive).Set("reverse", reverse).Out(type, {2, 3});
    return run.Doubles();
  };
  EXPECT_THAT(sum(0, 0, DType::kF32), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(sum(1, 0, DType::kI32), ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(sum(0, 1, DType::kF16), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(sum(1, 1, DType::kF64), ElementsAre(5, 3, 0, 11, 6, 0));
}

TEST(TopK, TiesTakeTheLowerIndex) {
  const auto top = [](int64_t largest) {
    KernelRun run("TopK");
    run.In(DType::kF32, {5}, {3, 1, 3, kNan, 1}).In(DType::kI64, {1}, {3}).Set("largest", largest);
    run.Out(DType::kF32, {5}).Out(DType::kI64, {5});
    EXPECT_TRUE(run.Run().ok());
    EXPECT_EQ(run.result(0).shape(), Shape({3}));
    return run.result(1).Ints();
  };
  EXPECT_THAT(top(1), ElementsAre(3, 0, 2));
  EXPECT_THAT(top(0), ElementsAre(1, 4, 0));
}

TEST(NonZero, RowsOfIndices) {
  KernelRun run("NonZero");
  run.In(DType::kBool, {2, 2}, {1, 0, 1, 1}).Out(DType::kI64, {2, 4});
  EXPECT_THAT(run.Doubles(), ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_EQ(run.result(0).shape(), Shape({2, 3}));
}

TEST(Unique, SortedUnsortedAndSlices) {
  const auto unique = [](int64_t sorted) {
    KernelRun run("Unique");
    run.In(DType::kF32, {6}, {2, 1, 1, 3, 4, 3}).Set("sorted", sorted);
    run.Out(DType::kF32, {6}).Out(DType::kI64, {6}).Out(DType::kI64, {6}).Out(DType::kI64, {6});
    EXPECT_TRUE(run.Run().ok());
    return run;
  };
  const KernelRun sorted = unique(1), first = unique(0);
  EXPECT_THAT(sorted.result(0).Doubles(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(sorted.result(1).Ints(), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(sorted.result(2).Ints(), ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(sorted.result(3).Ints(), ElementsAre(2, 1, 2, 1));
  EXPECT_THAT(first.result(0).Doubles(), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(first.result(1).Ints(), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(first.result(2).Ints(), ElementsAre(0, 1, 1, 2, 3, 2));
  EXPECT_THAT(first.result(3).Ints(), ElementsAre(1, 2, 2, 1));
  KernelRun columns("Unique");
  columns.In(DType::kI32, {2, 3}, {1, 0, 1, 2, 5, 2}).Set("axis", int64_t{1}).Out(DType::kI32, {2, 3});
  EXPECT_THAT(columns.Doubles(), ElementsAre(0, 1, 5, 2));
  EXPECT_EQ(columns.result(0).shape(), Shape({2, 2}));
}

TEST(NonMaxSuppression, BestBoxesFirst) {
  KernelRun run("NonMaxSuppression");
  run.In(DType::kF32, {1, 4, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11, 1, 12, 0, 10});
  run.In(DType::kF32, {1, 1, 4}, {0.9, 0.75, 0.6, 0.1}).In(DType::kI64, {1}, {3}).In(DType::kF32, {1}, {0.5});
  run.In(DType::kF32, {1}, {0}).Out(DType::kI64, {4, 3});
  // The second box is covered by the first; the last one shares half of its area with the third: 1/2 is not more.
  EXPECT_THAT(run.Doubles(), ElementsAre(0, 0, 0, 0, 0, 2, 0, 0, 3));
}

}  // namespace
}  // namespace sbp
