#include "calibrate/cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "boxing/boxing.h"

namespace sbp {
namespace {

using ::testing::HasSubstr;

constexpr CaseLimits kNone{1e30, 1e30};

RuleSet Rules() { return RuleSet::Builtin().value(); }

TEST(OpCases, AnOpForEachSizeWithinTheLimits) {
  const RuleSet rules = Rules();
  const char* text = "# comment\n\nMatMul f32[n,n] f32[n,4] for n=4,8,16\nReshape f32[n,2] =[2,-1] for n=8\n";
  const auto cases = OpCases(text, "rows.txt", rules, {2 * 8 * 8 * 4, 1e30}).value();
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].graph.ops.size(), 4u);  // two sizes, each twice
  EXPECT_EQ(cases[0].inputs.size(), 4u);
  EXPECT_EQ(cases[0].graph.outputs.size(), 4u);
  EXPECT_EQ(cases[1].inputs.size(), 1u);  // the target shape is known
}

TEST(OpCases, ErrorsNameTheLine) {
  const RuleSet rules = Rules();
  const auto message = [&](const char* text) { return OpCases(text, "rows.txt", rules, kNone).status().message(); };
  EXPECT_THAT(message("\nExp f32[4,4]"), HasSubstr("rows.txt:2: expected 'OP OPERANDS... for n=SIZES'"));
  EXPECT_THAT(message("Exp f32[n,4] for n=4,x"), HasSubstr("rows.txt:1: expected sizes after 'for n=', found \"x\""));
  EXPECT_THAT(message("Exp f32[n,4] for n=0"), HasSubstr("found \"0\""));
  EXPECT_THAT(message("Exp f32[n,4 for n=4"), HasSubstr("rows.txt:1: "));
}

TEST(OpCases, TheBuiltInRowsAreAllTaken) {
  const auto cases = OpCases(BuiltinCalibrationText(), "calibration.txt", Rules(), {1e12, 2e6});
  ASSERT_TRUE(cases.ok()) << cases.status().message();
  EXPECT_GT(cases->size(), 50u);
}

TEST(BoxingCase, SizesFitTheAxis) {
  const RuleSet rules = Rules();
  for (const char* mesh : {"x=2", "x=3", "x=2,y=3"}) {
    const Mesh parsed = *ParseMesh(mesh);
    for (int axis = 0; axis < parsed.num_axes(); ++axis) {
      for (const int64_t bytes : {4, 4096, 1 << 20}) {
        const CalibrationCase boxing = BoxingCase(parsed, axis, bytes, 2048, rules).value();
        const Shape& shape = boxing.graph.tensor(boxing.graph.inputs[0]).type.shape;
        EXPECT_EQ(shape[0] % parsed.size(axis), 0);
        EXPECT_EQ(shape[1] % parsed.size(axis), 0);
        EXPECT_GE(shape[1], parsed.size(axis));
        if (bytes < 4096) continue;
        EXPECT_NEAR(static_cast<double>(shape[0] * shape[1] * 4) / static_cast<double>(bytes), 1, 0.05);
      }
    }
  }
}

TEST(BoxingCase, RunsAreAsLongAsSaid) {
  const RuleSet rules = Rules();
  for (const double run : kMeasuredRuns) {
    const CalibrationCase boxing = BoxingCase(*ParseMesh("x=3"), 0, 1 << 20, run, rules).value();
    const TensorType& type = boxing.graph.tensor(boxing.graph.inputs[0]).type;
    EXPECT_EQ(RunBytes(type, *ParseNdSbp("S(1)"), *ParseNdSbp("B"), *ParseMesh("x=3"), 0), run);
    EXPECT_EQ(MeasuredRun(run), run);
  }
  EXPECT_EQ(MeasuredRun(0), 0);
  EXPECT_EQ(MeasuredRun(4), 128);
  EXPECT_EQ(MeasuredRun(500), 128);
  EXPECT_EQ(MeasuredRun(600), 2048);
  EXPECT_EQ(MeasuredRun(1e4), 2048);
  EXPECT_EQ(MeasuredRun(1e9), 65536);
}

// A random matrix would overflow after some tens of products.
TEST(OverlapCase, ProductsStayAsTheyAre) {
  const CalibrationCase overlap = OverlapCase(*ParseMesh("x=2"), 768, true, Rules()).value();
  ASSERT_EQ(overlap.inputs.size(), 1U);
  const TensorData& w = overlap.inputs[0];
  ASSERT_EQ(w.type.shape.size(), 2U);
  std::vector<float> values(w.bytes.size() / sizeof(float));
  std::memcpy(values.data(), w.bytes.data(), w.bytes.size());
  ASSERT_EQ(static_cast<int64_t>(values.size()), w.type.num_elements());
  double row = 0;  // a row's sum of 1 and equal elements make it its own square
  for (int64_t i = 0; i < w.type.shape[1]; ++i) row += values[static_cast<size_t>(i)];
  EXPECT_DOUBLE_EQ(row, 1);
  EXPECT_EQ(std::set<float>(values.begin(), values.end()).size(), 1U);
}

// The same number draws the same splits, of parameters that are large enough alone; other numbers draw others.
TEST(WithRandomSplits, SplitsSomeParameters) {
  Graph graph;
  for (int i = 0; i < 40; ++i) {
    Tensor tensor;
    tensor.type = {DType::kF32, {3, i % 2 == 0 ? 64 : 7}};
    tensor.role = i < 20 ? TensorRole::kParameter : TensorRole::kActivation;
    graph.tensors.push_back(tensor);
  }
  const Mesh mesh = *ParseMesh("x=2");
  std::set<std::vector<bool>> drawn;
  for (const uint64_t number : {0, 1, 2, 0}) {
    const Graph split = WithRandomSplits(graph, mesh, number);
    std::vector<bool> which;
    for (size_t t = 0; t < split.tensors.size(); ++t) {
      const NdSbp& pin = split.tensors[t].layout_pin;
      which.push_back(pin.size() > 0);
      if (pin.size() == 0) continue;
      EXPECT_TRUE(t < 20 && t % 2 == 0) << t;
      EXPECT_EQ(pin[0], Sbp::Split(1));
    }
    drawn.insert(which);
  }
  EXPECT_EQ(drawn.size(), 3U);
}

}  // namespace
}  // namespace sbp
