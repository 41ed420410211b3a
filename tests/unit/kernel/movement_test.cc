// Data movement, gather and scatter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/text.h"
#include "unit/kernel/run_kernel.h"

namespace sbp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ints = std::vector<int64_t>;

std::vector<double> Count(int64_t n) {
  std::vector<double> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

KernelRun& List(KernelRun& run, const std::vector<double>& values) {
  return run.In(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

std::vector<double> SliceOf(int64_t n, double start, double end, double step, int64_t result) {
  KernelRun run("Slice");
  run.In(DType::kF32, {n}, Count(n));
  for (const double v : {start, end, 0.0, step}) List(run, {v});
  run.Out(DType::kF32, {result});
  return run.Doubles();
}

TEST(Movement, SliceClampsAndWalksBackwards) {
  EXPECT_THAT(SliceOf(6, 1, 1000, 2, 3), ElementsAre(1, 3, 5));
  EXPECT_THAT(SliceOf(6, -3, -1, 1, 2), ElementsAre(3, 4));
  EXPECT_THAT(SliceOf(6, 100, -100, -2, 3), ElementsAre(5, 3, 1));
  EXPECT_THAT(SliceOf(6, -1, -9223372036854775807.0, -1, 6), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_TRUE(SliceOf(6, 4, 2, 1, 0).empty());
}

TEST(Movement, SliceSaysTheSizeItFound) {
  KernelRun run("Slice");
  run.In(DType::kI32, {5}, Count(5));
  for (const double v : {1.0, 3.0}) List(run, {v});
  run.Out(DType::kI32, {5});
  EXPECT_THAT(run.Doubles(), ElementsAre(1, 2));
  EXPECT_EQ(run.result(0).shape(), Shape({2}));
}

TEST(Movement, TransposeOfAnyTypeAndSize) {
  for (const DType type : {DType::kU8, DType::kF16, DType::kF32, DType::kI64, DType::kC128, DType::kU4}) {
    KernelRun run("Transpose");
    run.In(type, {2, 3}, {0, 1, 2, 3, 4, 5}).Out(type, {3, 2});
    EXPECT_THAT(run.Doubles(), ElementsAre(0, 3, 1, 4, 2, 5)) << DTypeName(type);
  }
  // Larger than tiles in both directions.
  constexpr int64_t kRows = 150, kColumns = 301;
  KernelRun run("Transpose");
  run.In(DType::kI32, {kRows, kColumns}, Count(kRows * kColumns)).Out(DType::kI32, {kColumns, kRows});
  const std::vector<double> y = run.Doubles();
  for (int64_t i = 0; i < kColumns; ++i) {
    for (int64_t j = 0; j < kRows; ++j) ASSERT_EQ(y[i * kRows + j], j * kColumns + i);
  }
  KernelRun four("Transpose");
  four.In(DType::kF32, {2, 2, 1, 3}, Count(12)).Set("perm", Ints{1, 3, 2, 0}).Out(DType::kF32, {2, 3, 1, 2});
  EXPECT_THAT(four.Doubles(), ElementsAre(0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11));
}

TEST(Movement, ConcatOfPackedElements) {
  KernelRun run("Concat");
  run.In(DType::kI4, {2, 1}, {-1, 2}).In(DType::kI4, {2, 2}, {3, 4, 5, -6}).Set("axis", int64_t{-1});
  run.Out(DType::kI4, {2, 3});
  EXPECT_THAT(run.Doubles(), ElementsAre(-1, 3, 4, 2, 5, -6));
}

TEST(Movement, PadModes) {
  const auto pad = [](const char* mode, const std::vector<double>& pads, int64_t n) {
    KernelRun run("Pad");
    run.In(DType::kF32, {4}, {1, 2, 3, 4});
    List(run, pads);
    run.In(DType::kF32, {}, {9}).Set("mode", std::string(mode)).Out(DType::kF32, {n});
    return run.Doubles();
  };
  EXPECT_THAT(pad("constant", {2, 1}, 7), ElementsAre(9, 9, 1, 2, 3, 4, 9));
  EXPECT_THAT(pad("constant", {-1, 2}, 5), ElementsAre(2, 3, 4, 9, 9));
  EXPECT_THAT(pad("constant", {-3, -1}, 0), ElementsAre());
  EXPECT_THAT(pad("reflect", {3, 2}, 9), ElementsAre(4, 3, 2, 1, 2, 3, 4, 3, 2));
  EXPECT_THAT(pad("edge", {2, -1}, 5), ElementsAre(1, 1, 1, 2, 3));
  EXPECT_THAT(pad("wrap", {2, 5}, 11), ElementsAre(3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1));
}

TEST(Movement, ExpandWhereAndConstant) {
  KernelRun expand("Expand");
  expand.In(DType::kU2, {2, 1}, {1, 3});
  List(expand, {2, 2, 2}).Out(DType::kU2, {2, 2, 2});
  EXPECT_THAT(expand.Doubles(), ElementsAre(1, 1, 3, 3, 1, 1, 3, 3));
  KernelRun where("Where");
  where.In(DType::kBool, {2, 1}, {1, 0}).In(DType::kF16, {2}, {1, 2}).In(DType::kF16, {}, {7}).Out(DType::kF16, {2, 2});
  EXPECT_THAT(where.Doubles(), ElementsAre(1, 2, 7, 7));
  KernelRun constant("ConstantOfShape");
  Literal five = Literal::Scalar(5, DType::kI32);
  List(constant, {3}).Set("value", std::make_shared<const Literal>(five)).Out(DType::kI32, {3});
  EXPECT_THAT(constant.Doubles(), ElementsAre(5, 5, 5));
  KernelRun zero("ConstantOfShape");
  List(zero, {2}).Out(DType::kF32, {2});
  EXPECT_THAT(zero.Doubles(), ElementsAre(0, 0));
}

TEST(Movement, ExpandSaysWhatCannotBeStretched) {
  for (const Shape& larger : {Shape{2, 4}, Shape{3}}) {
    KernelRun run("Expand");
    List(run.In(DType::kF32, {2, 3}, Count(6)), {2, 4}).Out(DType::kF32, larger);
    const Status status = run.Run();
    EXPECT_EQ(status.code(), Code::kRunFailed);
    EXPECT_THAT(status.message(), HasSubstr("shape [2,3] cannot be stretched to [" + Join(larger, ",") + "]"));
  }
}

TEST(Movement, GatherFromTheEndAndOutOfRange) {
  KernelRun run("Gather");
  run.In(DType::kF32, {3, 2}, Count(6)).In(DType::kI32, {1, 2}, {-1, 0}).Out(DType::kF32, {1, 2, 2});
  EXPECT_THAT(run.Doubles(), ElementsAre(4, 5, 0, 1));
  KernelRun bad("Gather");
  bad.In(DType::kF32, {3, 2}, Count(6)).In(DType::kI64, {1}, {3}).Out(DType::kF32, {1, 2});
  const Status status = bad.Run();
  EXPECT_EQ(status.code(), Code::kRunFailed);
  EXPECT_THAT(status.message(), HasSubstr("index 3 is out of range for size 3"));
}

TEST(Movement, GatherNdWithBatches) {
  KernelRun run("GatherND");
  run.In(DType::kI32, {2, 2, 2}, Count(8)).In(DType::kI64, {2, 1}, {1, 0}).Set("batch_dims", int64_t{1});
  run.Out(DType::kI32, {2, 2});
  EXPECT_THAT(run.Doubles(), ElementsAre(2, 3, 4, 5));
}

TEST(Movement, ScatterReductions) {
  const auto scatter = [](const char* how, DType type) {
    KernelRun run("ScatterElements");
    run.In(type, {4}, {1, 2, 3, 4}).In(DType::kI64, {3}, {1, -1, 1}).In(type, {3}, {5, 1, 3});
    run.Set("reduction", std::string(how)).Out(type, {4});
    return run.Doubles();
  };
  EXPECT_THAT(scatter("none", DType::kU4), ElementsAre(1, 3, 3, 1));
  EXPECT_THAT(scatter("add", DType::kF16), ElementsAre(1, 10, 3, 5));
  EXPECT_THAT(scatter("mul", DType::kI8), ElementsAre(1, 30, 3, 4));
  EXPECT_THAT(scatter("max", DType::kF64), ElementsAre(1, 5, 3, 4));
  EXPECT_THAT(scatter("min", DType::kU64), ElementsAre(1, 2, 3, 1));
  KernelRun nd("ScatterND");
  nd.In(DType::kF32, {2, 2}, {1, 2, 3, 4}).In(DType::kI64, {2, 1}, {1, 1}).In(DType::kF32, {2, 2}, {1, 1, 2, 2});
  nd.Set("reduction", std::string("add")).Out(DType::kF32, {2, 2});
  EXPECT_THAT(nd.Doubles(), ElementsAre(1, 2, 6, 7));
}

TEST(Movement, BitCastKeepsBits) {
  KernelRun run("BitCast");
  run.In(DType::kF32, {2}, {1, -0.0}).Out(DType::kU32, {2});
  EXPECT_THAT(run.Doubles(), ElementsAre(0x3f800000, 2147483648.0));
}

}  // namespace
}  // namespace sbp
