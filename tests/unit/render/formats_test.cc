#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/builder.h"
#include "render/dot.h"
#include "render/graphviz.h"
#include "render/render.h"
#include "unit/plans/transformer.h"

namespace sbp {
namespace {

using sbp::testing::TransformerPlan;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// x -> MatMul(w) -> P(sum) -> all-reduce -> Relu -> y on two devices.
Plan SmallPlan() {
  GraphBuilder builder("small");
  builder.AddInput("x", {DType::kF32, {16, 32}});
  builder.AddParameter("w", {DType::kF32, {32, 8}});
  builder.AddOp("MatMul", "fc", {"x", "w"}, {"h"}, {}, "net");
  builder.AddOp("Relu", "act", {"h"}, {"y"}, {}, "net");
  builder.DescribeTensor("h", {DType::kF32, {16, 8}});
  builder.DescribeTensor("y", {DType::kF32, {16, 8}});
  builder.AddOutput("y");
  Plan plan;
  plan.graph = *builder.Build("small");
  plan.mesh = *ParseMesh("x=2");
  plan.records.resize(2);
  plan.records[0].signature = *ParseSignature("S(1), S(0) -> P(sum)", 1);
  plan.records[1].signature = *ParseSignature("B -> B", 1);
  plan.op_records = {0, 1};
  const Sbp p = Sbp::Partial(), b;
  plan.source_layouts = {{Sbp::Split(1)}, {Sbp::Split(0)}, {p}, {b}};
  const BoxingStep step{CollectiveKind::kAllReduce, 0, {p}, {b}, 512, 1024, 1e-5};
  plan.transitions.push_back({TensorId(2), {p}, {b}, {step}, {{OpId(1), 0}}, 1e-5, 1024, "why"});
  return plan;
}

std::string Render(const Plan& plan, std::string_view extension, const RenderOptions& options = {}) {
  const Result<const FormatRow*> row = FormatForPath(StrCat("out.", extension));
  EXPECT_TRUE(row.ok());
  const Result<std::string> text = (*row)->render(plan, options);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

TEST(Formats, SmallPlanAsText) {
  EXPECT_EQ(Render(SmallPlan(), "txt"),
            "small\n"
            "2 ops · mesh x=2 · greedy (bytes)\n"
            "sum of prices 0 s = compute 0 s + boxing 0 s · moved 0 B · peak 0 B per device\n"
            "\n"
            "Ops\n"
            "op   type    output, global → local  signature            compute  collectives before it\n"
            "---  ------  ----------------------  -------------------  -------  -------------------------\n"
            "fc   MatMul  [16,8]                  S(1), S(0) → P(sum)      0 s\n"
            "act  Relu    [16,8]                  B → B                    0 s  all-reduce over x 1.02 kB\n"
            "\n"
            "Collectives\n"
            "kind        axis  count  bytes moved     time\n"
            "----------  ----  -----  -----------  -------\n"
            "all-reduce  x         1      1.02 kB  10.0 us\n");
}

TEST(Formats, SmallPlanAsDot) {
  const std::string dot = Render(SmallPlan(), "dot");
  EXPECT_THAT(dot, StartsWith("digraph plan {\n"));
  EXPECT_THAT(dot, HasSubstr("n0 -> n3 [penwidth=0.8, label=\"\u00A0P(sum)\""));
  EXPECT_THAT(dot, HasSubstr("n3 -> n1 [penwidth=0.8, label=\"\u00A0"
                             "B\""));
  EXPECT_THAT(dot, HasSubstr("n3 [shape=octagon, style=\"filled\", fillcolor=\"#CC3333\""));
  EXPECT_EQ(dot, Render(SmallPlan(), "dot"));
}

TEST(Formats, Markdown) {
  const std::string text = Render(TransformerPlan({.layers = 4}), "md");
  EXPECT_THAT(text, HasSubstr("| layers.0 .. layers.3/ × 4 |"));
  EXPECT_THAT(text, HasSubstr("| all-reduce | model | 8 | 1.60 GB | 4.00 ms |"));
}

TEST(Formats, PicturesBeginAsTheirKind) {
  const Plan plan = TransformerPlan({.layers = 2});
  EXPECT_THAT(Render(plan, "svg"), HasSubstr("<svg"));
  EXPECT_THAT(Render(plan, "png"), StartsWith("\x89PNG"));
  EXPECT_THAT(Render(plan, "pdf"), StartsWith("%PDF"));
}

TEST(Formats, GraphvizErrorsComeBackInsteadOfBeingPrinted) {
  ::testing::internal::CaptureStderr();
  const Result<std::string> picture = LayOut("digraph { a -> ", "svg");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(picture.ok());
  EXPECT_THAT(picture.status().message(), HasSubstr("syntax error"));
}

TEST(Formats, HostileNames) {
  Plan plan = SmallPlan();
  const std::string hostile = "a\"b<c>&\xff\x01\n\\|`{}é";
  for (Op& op : plan.graph.ops) op.name += hostile;
  for (Tensor& tensor : plan.graph.tensors) tensor.name += hostile;
  for (std::string& type : plan.graph.op_types) type += hostile;
  for (std::string& scope : plan.graph.scopes) scope += hostile;
  plan.graph.name += hostile;
  ::testing::internal::CaptureStderr();
  for (const FormatRow& row : AllFormats()) EXPECT_TRUE(row.render(plan, {}).ok()) << row.extension;
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Ten thousand ops of one scope, each of which reads two that stand near, with very long names.
Plan TanglePlan() {
  const std::string long_name(1000, 'n');
  GraphBuilder builder("tangle");
  builder.AddInput("t0", {DType::kF32, {16, 32}});
  const auto name = [&](int i) { return i == 0 ? "t0" : StrCat("t", i, long_name); };
  for (int i = 0; i < 10'000; ++i) {
    builder.AddOp("Add", StrCat("op", i, long_name), {name(std::max(0, i - i % 7)), name(std::max(0, i - i % 31))},
                  {name(i + 1)}, {}, StrCat("a", i / 1000, "/b", i / 100));
    builder.DescribeTensor(name(i + 1), {DType::kF32, {16, 32}});
  }
  builder.AddOutput(name(10'000));
  Plan plan;
  plan.graph = *builder.Build("tangle");
  plan.mesh = *ParseMesh("data=2,tensor_parallel=4");
  plan.records.resize(1);
  plan.records[0].signature = *ParseSignature("(S(0), S(1)), (S(0), S(1)) -> (S(0), S(1))", 2);
  plan.op_records.assign(10'000, 0);
  plan.source_layouts.assign(plan.graph.tensors.size(), {Sbp::Split(0), Sbp::Split(1)});
  return plan;
}

TEST(Formats, DrawingsOfManyOpsStaySmall) {
  const std::string svg = Render(TanglePlan(), "svg", {.view = "graph"});
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_LT(svg.size(), 1'000'000U);
  EXPECT_GT(svg.size(), 50'000U);
}

TEST(Formats, LongTooltipsAreCutLineByLine) {
  const std::string quoted = QuoteTooltip("first " + std::string(600, 'x') + " end\nsecond");
  EXPECT_THAT(quoted, StartsWith("\"first xxx"));
  EXPECT_THAT(quoted, HasSubstr(" end\\nsecond\""));
  EXPECT_LT(quoted.size(), 430U);
}

TEST(Formats, AnyCaseOfAnExtension) {
  for (const char* path : {"plan.SVG", "dir.x/plan.Svg"}) {
    const Result<const FormatRow*> row = FormatForPath(path);
    ASSERT_TRUE(row.ok()) << path;
    EXPECT_EQ((*row)->extension, "svg");
  }
}

TEST(Formats, UnknownExtension) {
  const Result<const FormatRow*> row = FormatForPath("dir.svg/plan.sgv");
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.status().code(), Code::kUsage);
  EXPECT_THAT(row.status().message(), HasSubstr("\"svg\""));
  EXPECT_FALSE(FormatForPath("plan").ok());
}

}  // namespace
}  // namespace sbp
