// Products, convolutions, pools, and sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/dtype.h"
#include "kernel/scalar/random.h"
#include "unit/kernel/run_kernel.h"

namespace sbp {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using Ints = std::vector<int64_t>;

std::vector<double> Count(int64_t n, double from = 0) {
  std::vector<double> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(MatMul, EveryType) {
  for (const DType type : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kI16,
                           DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kC64, DType::kC128}) {
    KernelRun run("MatMul");
    run.In(type, {2, 3}, {1, 2, 3, 4, 5, 6}).In(type, {3, 2}, {1, 0, 2, 1, 0, 3}).Out(type, {2, 2});
    EXPECT_THAT(run.Doubles(), ElementsAre(5, 11, 14, 23)) << DTypeName(type);
  }
}

TEST(MatMul, IntegersWrap) {
  KernelRun run("MatMul");
  run.In(DType::kI8, {1, 2}, {127, 1}).In(DType::kI8, {2, 1}, {1, 2}).Out(DType::kI8, {1, 1});
  EXPECT_THAT(run.Doubles(), ElementsAre(-127));
}

TEST(MatMul, NothingToSum) {
  KernelRun run("MatMul");
  run.In(DType::kF32, {2, 0}, {}).In(DType::kF32, {0, 2}, {}).Out(DType::kF32, {2, 2});
  EXPECT_THAT(run.Doubles(), ElementsAre(0, 0, 0, 0));
}

TEST(MatMul, LeadingDimensionsStretch) {
  const auto product = [](const Shape& a, const Shape& b, const Shape& out) {
    KernelRun run("MatMul");
    run.In(DType::kF32, a, Count(4, 1))
        .In(DType::kF32, b, Count(TensorType{DType::kF32, b}.num_elements(), 1))
        .Out(DType::kF32, out);
    return run.Doubles();
  };
  EXPECT_THAT(product({2, 1, 2}, {1, 2, 1}, {2, 1, 1}), ElementsAre(5, 11));  // one matrix on the right
  EXPECT_THAT(product({2, 1, 2}, {2, 2, 1}, {2, 1, 1}), ElementsAre(5, 25));
  EXPECT_THAT(product({2, 1, 1, 2}, {1, 3, 2, 1}, {2, 3, 1, 1}), ElementsAre(5, 11, 17, 11, 25, 39));
  EXPECT_THAT(product({1, 2, 2}, {2, 2, 1}, {2, 2, 1}), ElementsAre(5, 11, 11, 25));
}

TEST(MatMul, TransposedMatrices) {
  const auto product = [](const Shape& a, bool trans_a, const Shape& b, bool trans_b, const Shape& out) {
    KernelRun run("MatMul");
    const auto count = [](const Shape& shape) {
      return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    };
    run.In(DType::kF16, a, Count(count(a))).In(DType::kF16, b, Count(count(b)));
    if (trans_a) run.Set("transA", int64_t{1});
    if (trans_b) run.Set("transB", int64_t{1});
    run.Out(DType::kF16, out);
    return run.Doubles();
  };
  EXPECT_THAT(product({2, 3}, true, {2, 2}, false, {3, 2}), ElementsAre(6, 9, 8, 13, 10, 17));
  EXPECT_THAT(product({2, 3}, false, {2, 3}, true, {2, 2}), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(product({2, 1, 2}, true, {1, 2}, false, {2, 2, 2}), ElementsAre(0, 0, 0, 1, 0, 2, 0, 3));
  EXPECT_THAT(product({2, 1, 2}, true, {2, 2, 1}, true, {2, 2, 2}), ElementsAre(0, 0, 0, 1, 4, 6, 6, 9));
}

std::vector<double> Einsum(const char* equation, const std::vector<std::pair<Shape, std::vector<double>>>& operands,
                           Shape result, DType type = DType::kF64) {
  KernelRun run("Einsum");
  for (const auto& [shape, values] : operands) run.In(type, shape, values);
  run.Set("equation", std::string(equation)).Out(type, std::move(result));
  return run.Doubles();
}

TEST(Einsum, DiagonalsEllipsesAndManyOperands) {
  const std::vector<double> square = {1, 2, 3, 4};
  EXPECT_THAT(Einsum("ii->i", {{{2, 2}, square}}, {2}), ElementsAre(1, 4));
  EXPECT_THAT(Einsum("ii", {{{2, 2}, square}}, {}), ElementsAre(5));
  EXPECT_THAT(Einsum("ij->ji", {{{2, 2}, square}}, {2, 2}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(Einsum("...ii->...i", {{{2, 2, 2}, Count(8)}}, {2, 2}), ElementsAre(0, 3, 4, 7));
  EXPECT_THAT(Einsum("...ij,...jk->...ik", {{{1, 2, 2}, square}, {{2, 2, 1}, {1, 0, 0, 1}}}, {2, 2, 1}),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(Einsum("i,j,k->ijk", {{{2}, {1, 2}}, {{2}, {3, 4}}, {{1}, {5}}}, {2, 2, 1}), ElementsAre(15, 20, 30, 40));
  EXPECT_THAT(Einsum("bij, bjk", {{{1, 2, 2}, square}, {{1, 2, 2}, square}}, {2, 2}), ElementsAre(7, 10, 15, 22));
  EXPECT_THAT(Einsum("ij,ij->", {{{2, 2}, square}, {{2, 2}, square}}, {}, DType::kI32), ElementsAre(30));
}

TEST(Conv, PadsStridesDilationsAndGroups) {
  KernelRun run("Conv");
  run.In(DType::kF32, {1, 1, 5}, {1, 2, 3, 4, 5}).In(DType::kF32, {1, 1, 2}, {1, 10}).In(DType::kF32, {1}, {0.5});
  run.Set("pads", Ints{1, 2}).Set("dilations", Ints{2}).Set("strides", Ints{2}).Out(DType::kF32, {1, 1, 3});
  EXPECT_THAT(run.Doubles(), ElementsAre(20.5, 42.5, 4.5));
  // Groups of more than one channel go through a product; integers too.
  KernelRun groups("Conv");
  groups.In(DType::kI32, {1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).In(DType::kI32, {2, 2, 1}, {1, 1, 1, -1});
  groups.Set("group", int64_t{2}).Out(DType::kI32, {1, 2, 2});
  EXPECT_THAT(groups.Doubles(), ElementsAre(4, 6, -2, -2));
}

TEST(ConvInteger, ZeroPointsAreTakenAwayBeforePadding) {
  KernelRun run("ConvInteger");
  run.In(DType::kU8, {1, 1, 3}, {5, 6, 255}).In(DType::kI8, {2, 1, 2}, {1, 2, -3, 4});
  run.In(DType::kU8, {}, {5}).In(DType::kI8, {2}, {1, -1}).Set("pads", Ints{1, 0}).Out(DType::kI32, {1, 2, 3});
  EXPECT_THAT(run.Doubles(), ElementsAre(0, 1, 250, 0, 5, 1248));
}

// Neighbours of the part's first element are held too: a part with a halo.
TEST(Resize, MixesNeighbours) {
  const auto doubled = [](DType type, const char* mode) {
    KernelRun run("Resize");
    run.In(type, {1, 3}, {0, 4, 8}).Absent().In(DType::kF32, {2}, {1, 2}).Set("mode", std::string(mode));
    run.Out(type, {1, 6});
    return run.Doubles();
  };
  EXPECT_THAT(doubled(DType::kF32, "linear"), ElementsAre(0, 1, 3, 5, 7, 8));
  EXPECT_THAT(doubled(DType::kF16, "linear"), ElementsAre(0, 1, 3, 5, 7, 8));
  EXPECT_THAT(doubled(DType::kU8, "nearest"), ElementsAre(0, 0, 4, 4, 8, 8));
  KernelRun part("Resize");
  part.In(DType::kF64, {1, 3}, {0, 4, 8}).Absent().In(DType::kF32, {2}, {1, 2}).Set("mode", std::string("linear"));
  part.Out(DType::kF64, {1, 2}).Part(0, {1, 6}, {{0, 1}, {2, 4}});
  EXPECT_THAT(part.Doubles(), ElementsAre(3, 5));
}

TEST(TfIdfVectorizer, CountsListedNGramsWithGaps) {
  const auto counted = [](const char* mode, int64_t skipped) {
    KernelRun run("TfIdfVectorizer");
    run.In(DType::kI64, {2, 4}, {1, 2, 1, 2, 2, 1, 3, 3}).Set("mode", std::string(mode));
    run.Set("min_gram_length", int64_t{1}).Set("max_gram_length", int64_t{2}).Set("max_skip_count", skipped);
    run.Set("pool_int64s", Ints{1, 3, 1, 2, 2, 2})
        .Set("ngram_counts", Ints{0, 2})
        .Set("ngram_indexes", Ints{0, 3, 1, 2});
    run.Set("weights", std::vector<double>{1, 10, 100, 1000}).Out(DType::kF32, {2, 4});
    return run.Doubles();
  };
  EXPECT_THAT(counted("TF", 0), ElementsAre(2, 2, 0, 0, 1, 0, 0, 2));
  EXPECT_THAT(counted("TF", 9), ElementsAre(2, 3, 1, 0, 1, 0, 0, 2));
  EXPECT_THAT(counted("IDF", 1), ElementsAre(1, 100, 1000, 0, 1, 0, 0, 10));
  EXPECT_THAT(counted("TFIDF", 0), ElementsAre(2, 200, 0, 0, 1, 0, 0, 20));
}

TEST(Resize, CropsAndExtrapolates) {
  KernelRun run("Resize");
  run.In(DType::kF32, {3}, {0, 4, 8}).In(DType::kF32, {2}, {0.5, 1.5}).Absent().In(DType::kI64, {1}, {3});
  run.Set("mode", std::string("linear")).Set("coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  run.Set("extrapolation_value", -1.0).Out(DType::kF32, {3});
  EXPECT_THAT(run.Doubles(), ElementsAre(4, 8, -1));
}

TEST(ConvTranspose, StretchesAndAdds) {
  KernelRun run("ConvTranspose");
  run.In(DType::kF32, {1, 1, 3}, {1, 2, 3}).In(DType::kF32, {1, 1, 3}, {1, 1, 1}).Set("strides", Ints{2});
  run.Set("output_padding", Ints{1}).Out(DType::kF32, {1, 1, 8});
  EXPECT_THAT(run.Doubles(), ElementsAre(1, 1, 3, 2, 5, 3, 3, 0));
}

TEST(Pool, CeilModeCountsNoElementsBehindThePadding) {
  const auto average = [](int64_t include) {
    KernelRun run("AveragePool");
    run.In(DType::kF32, {1, 1, 4}, {1, 2, 3, 4}).Set("kernel_shape", Ints{3}).Set("strides", Ints{2});
    run.Set("pads", Ints{1, 0}).Set("ceil_mode", int64_t{1}).Set("count_include_pad", include);
    run.Out(DType::kF32, {1, 1, 2});
    return run.Doubles();
  };
  EXPECT_THAT(average(0), ElementsAre(1.5, 3));
  EXPECT_THAT(average(1), ElementsAre(1, 3));
  KernelRun last("AveragePool");
  last.In(DType::kF64, {1, 1, 4}, {1, 2, 3, 4}).Set("kernel_shape", Ints{3}).Set("strides", Ints{3});
  last.Set("ceil_mode", int64_t{1}).Set("count_include_pad", int64_t{1}).Out(DType::kF64, {1, 1, 2});
  EXPECT_THAT(last.Doubles(), ElementsAre(2, 4));
}

TEST(Pool, Norms) {
  const auto norm = [](int64_t p) {
    KernelRun run("LpPool");
    run.In(DType::kF32, {1, 1, 3}, {3, -4, 0}).Set("kernel_shape", Ints{2}).Set("p", p).Out(DType::kF32, {1, 1, 2});
    return run.Doubles();
  };
  EXPECT_THAT(norm(1), ElementsAre(7, 4));
  EXPECT_THAT(norm(2), ElementsAre(5, 4));
  EXPECT_THAT(norm(3), ElementsAre(DoubleNear(std::cbrt(91.0), 1e-6), DoubleNear(4, 1e-6)));
}

TEST(Pool, MaximaAndTheirPlaces) {
  const auto places = [](int64_t order) {
    KernelRun run("MaxPool");
    run.In(DType::kI8, {1, 2, 2, 3}, {1, 5, 2, 4, 3, 6, -1, -2, -3, -4, -5, -6}).Set("kernel_shape", Ints{2, 2});
    run.Set("storage_order", order).Out(DType::kI8, {1, 2, 1, 2}).Out(DType::kI64, {1, 2, 1, 2});
    EXPECT_THAT(run.Doubles(), ElementsAre(5, 6, -1, -2));
    return run.result(1).Ints();
  };
  EXPECT_THAT(places(0), ElementsAre(1, 5, 6, 7));
  EXPECT_THAT(places(1), ElementsAre(2, 5, 6, 8));
  KernelRun padded("MaxPool");
  padded.In(DType::kF16, {1, 1, 3}, {-1, -2, -3}).Set("kernel_shape", Ints{2}).Set("dilations", Ints{2});
  padded.Set("pads", Ints{1, 1}).Out(DType::kF16, {1, 1, 3});
  EXPECT_THAT(padded.Doubles(), ElementsAre(-2, -1, -2));
}

TEST(Pool, PlacesAlone) {
  KernelRun run("MaxPool");
  run.In(DType::kF32, {1, 1, 4}, {1, 3, 2, 0}).Set("kernel_shape", Ints{2}).Set("strides", Ints{2});
  run.Out(DType::kUndefined, {}).Out(DType::kI64, {1, 1, 2});
  EXPECT_THAT(run.Doubles(1), ElementsAre(1, 2));
}

TEST(Range, AnyNumberType) {
  KernelRun down("Range");
  down.In(DType::kI16, {}, {10}).In(DType::kI16, {}, {4}).In(DType::kI16, {}, {-2}).Out(DType::kI16, {3});
  EXPECT_THAT(down.Doubles(), ElementsAre(10, 8, 6));
  KernelRun floats("Range");
  floats.In(DType::kF32, {}, {1}).In(DType::kF32, {}, {2}).In(DType::kF32, {}, {0.5}).Out(DType::kF32, {4});
  EXPECT_THAT(floats.Doubles(), ElementsAre(1, 1.5));
  KernelRun zero("Range");
  zero.In(DType::kI64, {}, {1}).In(DType::kI64, {}, {2}).In(DType::kI64, {}, {0}).Out(DType::kI64, {1});
  EXPECT_EQ(zero.Run().code(), Code::kRunFailed);
}

// The known answers of the generator's authors.
TEST(Random, Philox) {
  const scalar::RandomWords zero = scalar::Philox(0, 0);
  EXPECT_THAT(zero.w, ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
}

TEST(Random, PartsAreSlicesOfTheWhole) {
  const auto draw = [](Shape shape, std::vector<Range> ranges, const char* op) {
    KernelRun run(op);
    run.Seed(5).Out(DType::kF32, std::move(shape)).Part(0, {4, 6}, std::move(ranges));
    return run.Doubles();
  };
  for (const char* op : {"RandomUniform", "RandomNormal"}) {
    const std::vector<double> whole = draw({4, 6}, {{0, 4}, {0, 6}}, op);
    const std::vector<double> part = draw({2, 3}, {{2, 4}, {3, 6}}, op);
    EXPECT_THAT(part, ElementsAre(whole[15], whole[16], whole[17], whole[21], whole[22], whole[23]));
  }
}

TEST(Random, UniformNumbersAreBelow1InEveryType) {
  for (const DType type : {DType::kF16, DType::kBF16, DType::kF32}) {
    KernelRun run("RandomUniform");
    run.Out(type, {20000});
    const std::vector<double> x = run.Doubles();
    EXPECT_LT(*std::max_element(x.begin(), x.end()), 1) << DTypeName(type);
    EXPECT_GT(*std::max_element(x.begin(), x.end()), 0.99) << DTypeName(type);
  }
}

TEST(Random, MeansAndVariances) {
  KernelRun normal("RandomNormal"), uniform("RandomUniform");
  normal.Set("mean", 3.0).Set("scale", 2.0).Out(DType::kF64, {100000});
  uniform.Set("low", -1.0).Set("high", 3.0).Out(DType::kF64, {100000});
  for (auto* run : {&normal, &uniform}) {
    const std::vector<double> x = run->Doubles();
    double sum = 0, squares = 0;
    for (const double v : x) {
      sum += v / 1e5;
      squares += v * v / 1e5;
    }
    EXPECT_THAT(sum, DoubleNear(run == &normal ? 3 : 1, 0.03));
    EXPECT_THAT(squares - sum * sum, DoubleNear(run == &normal ? 4 : 16.0 / 12, 0.06));
  }
}

}  // namespace
}  // namespace sbp
