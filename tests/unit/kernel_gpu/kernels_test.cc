// GPU kernels against the CPU's where rules/instances.txt has no rows: types that rules do not ask for, sizes that take
// several threads and passes, extreme values, and failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/text.h"
#include "kernel/convert.h"
#include "kernel/gpu/device_errors.h"
#include "support/gpu_compare.h"

namespace sbp {
namespace {

using enum DType;
using Ints = std::vector<int64_t>;

constexpr DType kEveryType[] = {kF32, kF64,      kF16,        kBF16,   kI8,         kI16,    kI32,   kI64, kU8,
                                kU16, kU32,      kU64,        kBool,   kC64,        kC128,   kI4,    kU4,  kI2,
                                kU2,  kF8E4M3FN, kF8E4M3FNUZ, kF8E5M2, kF8E5M2FNUZ, kF8E8M0, kF4E2M1};
constexpr DType kNumbers[] = {kF32, kF64, kF16, kBF16, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64};

class KernelsTest : public testing::Test {
 protected:
  static TensorView View(DType type, Shape shape) { return WholeView(type, std::move(shape), nullptr); }
  GpuOperand Of(DType type, Shape shape, std::vector<double> values) {
    return {View(type, std::move(shape)), std::move(values)};
  }
  // Numbers in [low, high).
  GpuOperand Random(DType type, Shape shape, double low, double high) {
    GpuOperand operand{View(type, std::move(shape)), {}};
    std::uniform_real_distribution<double> uniform(low, high);
    for (int64_t i = 0; i < operand.view.elements(); ++i) operand.values.push_back(uniform(random_));
    return operand;
  }
  GpuOperand List(const Ints& values) {
    return Of(kI64, {static_cast<int64_t>(values.size())}, {values.begin(), values.end()});
  }
  void Compare(std::string_view op, const std::vector<GpuOperand>& inputs, const std::vector<TensorView>& outputs,
               const Attributes& attributes = {}) {
    SCOPED_TRACE(StrCat(op, " ", DTypeName(inputs.empty() ? outputs[0].dtype : inputs[0].view.dtype), " -> ",
                        DTypeName(outputs[0].dtype)));
    compare_.Run(op, attributes, inputs, outputs, true);
  }

  std::mt19937_64 random_{3};
  GpuCompare compare_;
};

TEST_F(KernelsTest, CastsEveryTypeToEvery) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values{0,     -0.0,    1,      -1,       0.5,       1.5,          2.5,    -2.5,   3.25,
                                   6,     7.9,     127,    128,      -129,      255.5,        256,    240,    448,
                                   464,   57344,   61440,  65504,    65520,     7e4,          1e9,    -2.2e9, 4.4e9,
                                   9e18,  -9.3e18, 1.9e19, 3e38,     1e300,     -1e300,       1e-3,   6e-8,   3e-8,
                                   1e-40, 1e-300,  1.0e-2, infinity, -infinity, std::nan(""), 1.0 / 3};
  const Shape shape{static_cast<int64_t>(values.size())};
  for (const DType from : kEveryType) {
    for (const DType to : kEveryType) {
      for (const char* mode : {"up", "down", "nearest"}) {
        Attributes attributes;
        attributes.Set("to", static_cast<int64_t>(to));
        attributes.Set("saturate", int64_t{mode[0] != 'd'});
        attributes.Set("round_mode", std::string(mode));
        Compare("Cast", {Of(from, shape, values)}, {View(to, shape)}, attributes);
      }
    }
  }
}

TEST_F(KernelsTest, ConstantsAndRangesOfEveryType) {
  for (const DType type : kEveryType) {
    Attributes attributes;
    if (!IsComplex(type)) attributes.Set("value", std::make_shared<const Literal>(Literal::Scalar(3, type)));
    Compare("ConstantOfShape", {List({3, 7})}, {View(type, {3, 7})}, attributes);
  }
  for (const DType type : kNumbers) {
    Compare("Range", {Of(type, {}, {2}), Of(type, {}, {100}), Of(type, {}, {3})}, {View(type, {33})});
    TensorView part = View(type, {4});
    part.whole = {33};
    part.ranges = {{20, 24}};
    Compare("Range", {Of(type, {}, {2}), Of(type, {}, {100}), Of(type, {}, {3})}, {part});
  }
}

TEST_F(KernelsTest, ProductsOfTransposedMatrices) {
  Attributes a, b, both;
  for (Attributes* some : {&a, &both}) some->Set("transA", int64_t{1});
  for (Attributes* some : {&b, &both}) some->Set("transB", int64_t{1});
  for (const DType type : kNumbers) {
    const TensorView out = View(type, {3, 5, 4});
    Compare("MatMul", {Random(type, {3, 9, 5}, -3, 3), Random(type, {9, 4}, -3, 3)}, {out}, a);
    Compare("MatMul", {Random(type, {3, 5, 9}, -3, 3), Random(type, {4, 9}, -3, 3)}, {out}, b);
    Compare("MatMul", {Random(type, {3, 9, 5}, -3, 3), Random(type, {3, 4, 9}, -3, 3)}, {out}, both);
  }
}

TEST_F(KernelsTest, ComplexNumbers) {
  for (const DType type : {kC64, kC128}) {
    for (const char* op : {"Exp", "Reciprocal", "Neg"})
      Compare(op, {Random(type, {5, 9}, 0.2, 3)}, {View(type, {5, 9})});
    for (const char* op : {"Add", "Sub", "Mul", "Div"})
      Compare(op, {Random(type, {5, 9}, -3, 3), Random(type, {9}, 0.5, 3)}, {View(type, {5, 9})});
    Compare("MatMul", {Random(type, {2, 5, 9}, -1, 1), Random(type, {9, 4}, -1, 1)}, {View(type, {2, 5, 4})});
    Compare("MatMul", {Random(type, {2, 5, 9}, -1, 1), Random(type, {1, 9, 4}, -1, 1)}, {View(type, {2, 5, 4})});
  }
}

TEST_F(KernelsTest, LongAndShortReductions) {
  for (const DType type : kNumbers) {
    for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"}) {
      const double high = op[6] == 'P' ? 1.01 : 4;
      Compare(op, {Random(type, {3, 5000}, 0.99, high), List({1})}, {View(type, {3, 1})});
      Compare(op, {Random(type, {700, 37}, 0.99, high), List({0})}, {View(type, {1, 37})});
      Compare(op, {Random(type, {6, 5, 4, 3}, 0.99, high), List({1, 3})}, {View(type, {6, 1, 4, 1})});
      Compare(op, {Random(type, {4, 0}, 0, 1), List({1})}, {View(type, {4, 1})});
    }
  }
}

TEST_F(KernelsTest, NanInReductionsAndArgs) {
  const double nan = std::nan("");
  const std::vector<double> values{1, nan, 3, nan, 5, 5, -2, 5, 0, 0, 0, 0};
  for (const DType type : {kF32, kF16, kF64}) {
    for (const char* op : {"ReduceMax", "ReduceMin"})
      Compare(op, {Of(type, {3, 4}, values), List({1})}, {View(type, {3, 1})});
    for (const char* op : {"ArgMax", "ArgMin"}) {
      for (const int64_t last : {0, 1}) {
        Attributes attributes;
        attributes.Set("axis", int64_t{1});
        attributes.Set("select_last_index", last);
        Compare(op, {Of(type, {3, 4}, values)}, {View(kI64, {3, 1})}, attributes);
      }
    }
    for (const char* op : {"Max", "Min"})
      Compare(op, {Of(type, {3, 4}, values), Of(type, {}, {2}), Of(type, {4}, {1, 2, 3, nan})}, {View(type, {3, 4})});
  }
}

TEST_F(KernelsTest, RunningSumsInChunks) {
  for (const DType type : {kF32, kF16, kI32, kF64}) {
    for (const char* op : {"CumSum", "CumProd"}) {
      for (const int64_t flags : {0, 1, 2, 3}) {
        Attributes attributes;
        attributes.Set("exclusive", flags & 1);
        attributes.Set("reverse", flags >> 1);
        const double low = op[3] == 'P' ? 0.98 : -1;
        Compare(op, {Random(type, {2, 1000, 3}, low, 1.02), Of(kI64, {}, {1})}, {View(type, {2, 1000, 3})}, attributes);
      }
    }
  }
}

TEST_F(KernelsTest, TopOfFewAndMany) {
  for (const DType type : kNumbers) {
    for (const int64_t k : {1, 5, 16, 17, 300}) {
      for (const int64_t largest : {0, 1}) {
        Attributes attributes;
        attributes.Set("largest", largest);
        attributes.Set("axis", int64_t{1});
        // Many equal ones: 40 numbers for 300 places.
        Compare("TopK", {Random(type, {2, 300, 3}, -20, 20), List({k})}, {View(type, {2, k, 3}), View(kI64, {2, k, 3})},
                attributes);
      }
    }
  }
}

TEST_F(KernelsTest, ScattersManyUpdatesOfOnePlace) {
  for (const DType type : kNumbers) {
    for (const char* how : {"none", "add", "mul", "max", "min"}) {
      Attributes attributes;
      attributes.Set("reduction", std::string(how));
      GpuOperand places = Random(kI64, {500}, 0, 20);
      Compare("ScatterElements", {Random(type, {20}, 0, 3), places, Random(type, {500}, 0.5, 1.6)}, {View(type, {20})},
              attributes);
      places = Random(kI64, {100, 1}, -6, 6);
      Compare("ScatterND", {Random(type, {6, 7}, 0, 3), places, Random(type, {100, 7}, 0.5, 1.6)}, {View(type, {6, 7})},
              attributes);
    }
  }
}

TEST_F(KernelsTest, MovesWideAndNarrowWords) {
  for (const DType type : kEveryType) {
    for (const Ints& perm : {Ints{1, 0, 2}, Ints{2, 1, 0}, Ints{0, 2, 1}}) {
      Attributes attributes;
      attributes.Set("perm", perm);
      const Shape shape{6, 5, 16};
      Compare("Transpose", {Random(type, shape, 0, 3)}, {View(type, {shape[perm[0]], shape[perm[1]], shape[perm[2]]})},
              attributes);
    }
    Compare("Slice", {Random(type, {9, 17}, 0, 3), List({7, 1}), List({0, 16}), List({0, 1}), List({-2, 3})},
            {View(type, {4, 5})});
    Attributes axis;
    axis.Set("axis", int64_t{1});
    Compare("Concat", {Random(type, {3, 8}, 0, 3), Random(type, {3, 5}, 0, 3)}, {View(type, {3, 13})}, axis);
    Compare("Gather", {Random(type, {4, 7, 3}, 0, 3), Of(kI32, {2, 2}, {-1, 0, 3, 6})}, {View(type, {4, 2, 2, 3})},
            axis);
    for (const char* mode : {"constant", "edge", "wrap", "reflect"}) {
      Attributes attributes;
      attributes.Set("mode", std::string(mode));
      Compare("Pad", {Random(type, {3, 4}, 0, 3), List({2, -1, 1, 5}), Of(type, {}, {1})}, {View(type, {6, 8})},
              attributes);
    }
  }
}

TEST_F(KernelsTest, ArithmeticOfExtremeValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values{0, -0.0, 1, -1, 127, -128, 1e30, -1e30, infinity, -infinity, std::nan(""), 3};
  const Shape shape{12}, pairs{12, 12}, column{12, 1};
  for (const DType type : kNumbers) {
    for (const char* op : {"Add", "Sub", "Mul", "Max", "Min", "Div", "Mod"}) {
      if (!IsFloat(type) && (op[0] == 'D' || op[1] == 'o')) continue;  // by 0: below
      Attributes attributes;
      attributes.Set("fmod", int64_t{1});
      Compare(op, {Of(type, column, values), Of(type, shape, values)}, {View(type, pairs)}, attributes);
    }
    for (const char* op : {"Equal", "Less", "GreaterOrEqual"})
      Compare(op, {Of(type, column, values), Of(type, shape, values)}, {View(kBool, pairs)});
    for (const char* op : {"Abs", "Neg", "Sign"}) Compare(op, {Of(type, shape, values)}, {View(type, shape)});
  }
  for (const DType base : {kF32, kF16, kI32, kI64, kF64}) {
    for (const DType exponent : {kF32, kI32, kF64, kI64, kU8})
      Compare("Pow", {Random(base, {8, 1}, 0.5, 4), Random(exponent, {5}, 0, 4)}, {View(base, {8, 5})});
  }
}

TEST_F(KernelsTest, FailuresOfDataAreNoted) {
  for (const DType type : {kI8, kI32, kU64}) {
    for (const char* op : {"Div", "Mod"})
      Compare(op, {Of(type, {3}, {1, 2, 3}), Of(type, {3}, {1, 0, 2})}, {View(type, {3})});
  }
  Compare("Gather", {Of(kF32, {3, 2}, {0, 1, 2, 3, 4, 5}), List({3})}, {View(kF32, {1, 2})});
  Compare("GatherElements", {Of(kF32, {3}, {0, 1, 2}), List({-4})}, {View(kF32, {1})});
  Compare("GatherND", {Of(kF32, {3}, {0, 1, 2}), Of(kI64, {1, 1}, {3})}, {View(kF32, {1})});
  Compare("ScatterND", {Of(kF32, {3}, {0, 1, 2}), Of(kI64, {1, 1}, {9}), Of(kF32, {1}, {1})}, {View(kF32, {3})});
  Compare("Range", {Of(kI32, {}, {1}), Of(kI32, {}, {5}), Of(kI32, {}, {0})}, {View(kI32, {4})});
}

TEST_F(KernelsTest, AnErrorIsTakenOnce) {
  TestGpu gpu = OpenTestGpu();
  const uint32_t both = kIndexOutOfRange | kDividedByZero;
  ASSERT_TRUE(gpu.stream
                  ->UploadNow(reinterpret_cast<const std::byte*>(&both),
                              reinterpret_cast<std::byte*>(gpu.stream->error_word()), sizeof both)
                  .ok());
  EXPECT_THAT(TakeDeviceErrors(*gpu.stream).message(), testing::HasSubstr("out of range"));
  EXPECT_TRUE(TakeDeviceErrors(*gpu.stream).ok());
}

TEST_F(KernelsTest, EveryRowOfTheCpuHasOneOrAReason) {
  for (const KernelRow& row : AllKernels()) {
    // Their sizes depend on data, or one thread would do all the work: they run on the host.
    if (row.op == "NonZero" || row.op == "Unique" || row.op == "NonMaxSuppression" || row.op == "TfIdfVectorizer")
      continue;
    // GPUs run their expansions.
    if (row.op == "sbp::GroupedMatMul" || row.op == "sbp::FlashAttention" || row.op == "sbp::FlashAttentionGrad")
      continue;
    for (const DType type : kEveryType)
      EXPECT_EQ(row.types.has(type), compare_.kernels().Find(row.op, type) != nullptr) << row.op << DTypeName(type);
  }
}

}  // namespace
}  // namespace sbp
