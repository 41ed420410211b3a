#include "io/pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/builder.h"

namespace sbp {
namespace {

constexpr std::string_view kRules = R"(
op my::Linear(Tensor a, Tensor w, Tensor c?, *, float alpha=1.0) -> Tensor y
  rule m k, k n, m n -> m n ; reduce sum k ; addend c ; linear {a, c} | {w, c}
op my::Stack(Tensor[] inputs) -> Tensor y
  rule ... -> ...
)";

constexpr std::string_view kForms =
    "expected TENSOR=(S(0), B), TENSOR<-(S(0), B), TENSOR==(S(0), B), OP.OPERAND=(S(0), B), or OP: (S(0), B), (B, B) "
    "-> "
    "(S(0), B)";

class PinsTest : public testing::Test {
 protected:
  PinsTest() {
    GraphBuilder builder("g");
    builder.AddInput("x:0", {DType::kF32, {8, 16}});
    builder.AddParameter("layers.0.weight", {DType::kF32, {16, 16}});
    builder.AddParameter("layers.1.weight", {DType::kF32, {16, 16}});
    builder.AddOp("my::Linear", "a::fc.0", {"x:0", "layers.0.weight", ""}, {"h=0"});
    builder.AddOp("my::Linear", "a::fc.1", {"h=0", "layers.1.weight"}, {"h1"});
    builder.AddOp("my::Stack", "stack", {"h=0", "h1"}, {"y"});
    for (const char* name : {"h=0", "h1", "y"}) builder.DescribeTensor(name, {DType::kF32, {8, 16}});
    builder.AddOutput("y");
    graph_ = builder.Build("g").value();
    mesh_ = ParseMesh("data=2,model=4").value();
    rules_ = RuleSet::Builtin().value();
    EXPECT_TRUE(rules_.Add(kRules, "my.rules").ok());
  }

  Status Apply(const std::vector<std::string>& texts) {
    std::vector<PinText> pins;
    for (const std::string& text : texts) pins.push_back({text, "--pin"});
    pins_ = Pins();
    return ApplyPins(pins, graph_, mesh_, rules_, pins_);
  }

  // All pins, one a line, sorted.
  std::string DumpPins() const {
    std::vector<std::string> lines;
    for (const auto& [id, pin] : pins_.tensors) {
      lines.push_back(StrCat(graph_.tensor(id).name, " = ", ToString(pin.layout)));
    }
    for (const auto& [id, pin] : pins_.lies) {
      lines.push_back(StrCat(graph_.tensor(id).name, " lies ", ToString(pin.layout)));
    }
    for (const auto& [key, pin] : pins_.uses) {
      lines.push_back(StrCat(graph_.ops[key >> 32].name, " operand ", key & 0xffffffff, " = ", ToString(pin.layout)));
    }
    for (const auto& [id, pin] : pins_.signatures) {
      lines.push_back(StrCat(graph_.op(id).name, " : ", ToString(pin.signature)));
    }
    std::sort(lines.begin(), lines.end());
    return Join(lines, "\n");
  }

  Graph graph_;
  Mesh mesh_;
  RuleSet rules_;
  Pins pins_;
};

struct PinsRow {
  std::string text, pins;
};

TEST_F(PinsTest, EveryForm) {
  const PinsRow rows[] = {
      {"x:0=(S(0), B)", "x:0 = (S(0), B)"},
      {" x:0 = ( S0 , R ) ", "x:0 = (S(0), B)"},
      {"h=0=(P, B)", "h=0 lies (P(sum), B)"},
      {"h=0<-(P, B)", "h=0 = (P(sum), B)"},
      {"h=0 <- [0,-1] partial=[1:sum]", "h=0 = (S(0), P(sum))"},
      {"h=0==(S(0), B)",
       "a::fc.1 operand 0 = (S(0), B)\nh=0 = (S(0), B)\nh=0 lies (S(0), B)\nstack operand 0 = (S(0), B)"},
      {"layers.*.weight == (B, S(1))",
       "a::fc.0 operand 1 = (B, S(1))\na::fc.1 operand 1 = (B, S(1))\nlayers.0.weight = (B, S(1))\n"
       "layers.1.weight = (B, S(1))"},
      {"x:0=[0,1]", "x:0 = (S(0), S(1))"},
      {"x:0=[0,-1] partial=[1:sum]", "x:0 = (S(0), P(sum))"},
      {"h=0=[[0,1],-1]", "h=0 lies (S(0), S(0))"},
      {"layers.*.weight=(B, S(1))", "layers.0.weight = (B, S(1))\nlayers.1.weight = (B, S(1))"},
      {"a::fc.0.w=(B, S(1))", "a::fc.0 operand 1 = (B, S(1))"},
      {"a::fc.0.0=(B, S(1))", "a::fc.0 operand 0 = (B, S(1))"},
      {"a::fc.*.w=[-1,-1]", "a::fc.0 operand 1 = (B, B)\na::fc.1 operand 1 = (B, B)"},
      {"stack.inputs[1]=(B, B)", "stack operand 1 = (B, B)"},
      {"stack.1=(B, B)", "stack operand 1 = (B, B)"},
      {"a::fc.1: (S(0), B), (B, B) -> (S(0), B)", "a::fc.1 : (S(0), B), (B, B) -> (S(0), B)"},
      {"a::fc.0: (S(0), B), (B, B) -> (S(0), B)", "a::fc.0 : (S(0), B), (B, B), (B, B) -> (S(0), B)"},
      {"a::fc.0: (B, B), (B, B), (B, B) -> (B, B)", "a::fc.0 : (B, B), (B, B), (B, B) -> (B, B)"},
      {"a::fc.1:[0,-1], [-1,-1] -> [0,-1]", "a::fc.1 : (S(0), B), (B, B) -> (S(0), B)"},
  };
  for (const PinsRow& row : rows) {
    const Status status = Apply({row.text});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(DumpPins(), row.pins) << row.text;
  }
}

TEST_F(PinsTest, Errors) {
  const PinsRow rows[] = {
      {"x:0", std::string(kForms)},
      {"x:0=(S(0), Q)", "\"(S(0), Q)\": layout \"Q\": expected S(dimension), B, or P(sum)"},
      {"x:0=S(0)", "layout \"S(0)\" has 1 entries for a mesh of 2 axes"},
      {"x:0=(B, S(2))", "layout (B, S(2)) splits dimension 2 of tensor \"x:0\", which is f32[8,16]"},
      {"x:0=[0]", "layout \"[0]\" has 1 dimensions; tensor \"x:0\" is f32[8,16]"},
      {"layers.0.wieght=(B, B)",
       "no tensor is called \"layers.0.wieght\", and no op's operand either (did you mean \"layers.0.weight\" or "
       "\"layers.1.weight\"?)"},
      {"x:0<-(B, B)", "no op writes \"x:0\", an input; x:0=(B, B) says how it starts"},
      {"layers.*<-(B, B)", "no op writes \"layers.0.weight\", a parameter; layers.0.weight=(B, B) says how it starts"},
      {"h2==(B, B)", "no tensor is called \"h2\" (did you mean \"h1\"?)"},
      {"nothing*=(B, B)", "no tensor matches \"nothing*\", and no op's operand either"},
      {"a::fc.0.v=(B, B)", "op \"a::fc.0\" (my::Linear) has no operand \"v\"; expected a, w, c or a position below 3"},
      {"a::fc.0.c=(B, B)", "op \"a::fc.0\" has no operand 2 (it is absent)"},
      {"stack.inputs[2]=(B, B)",
       "op \"stack\" (my::Stack) has no operand \"inputs[2]\"; expected inputs or a position below 2"},
      {"a::fc.2: (B, B) -> (B, B)", "no op is called \"a::fc.2\" (did you mean \"a::fc.0\" or \"a::fc.1\"?)"},
      {"stack: (B, B) -> (B, B)",
       "op \"stack\" (my::Stack) has 2 operands and 1 results; the pin gives 1 layouts and 1"},
      {"=(B, B)", std::string(kForms)},
  };
  for (const PinsRow& row : rows) {
    const Status status = Apply({row.text});
    ASSERT_FALSE(status.ok()) << row.text;
    // What cannot be read is wrong usage where it stands in the flag.
    const std::string_view what = row.pins;
    const bool syntax = what.find("expected TENSOR=") != what.npos || what.find("expected S(dimension)") != what.npos;
    EXPECT_EQ(status.code(), syntax ? Code::kUsage : Code::kBadInput) << row.text;
    EXPECT_EQ(status.message(), StrCat("--pin ", Quote(row.text), ": ", row.pins));
  }
}

TEST_F(PinsTest, RepeatedPinsMustAgree) {
  EXPECT_TRUE(Apply({"x:0=(S(0), B)", "x:0=[0,-1]"}).ok());
  EXPECT_EQ(Apply({"x:0=(S(0), B)", "x:0=(B, B)"}).message(),
            "--pin \"x:0=(B, B)\": tensor \"x:0\" is pinned already, differently, by x:0=(S(0), B)");
  EXPECT_TRUE(Apply({"h1=(S(0), B)", "h1<-(P, B)"}).ok());
  EXPECT_FALSE(Apply({"h1=(S(0), B)", "h1==(B, B)"}).ok());
  EXPECT_FALSE(Apply({"h1==(S(0), B)", "stack.1=(B, B)"}).ok());
  EXPECT_FALSE(Apply({"stack.0=(S(0), B)", "stack.inputs[0]=(B, B)"}).ok());
  EXPECT_FALSE(Apply({"stack: (B, B), (B, B) -> (B, B)", "stack: (S0, B), (S0, B) -> (S0, B)"}).ok());
}

TEST_F(PinsTest, HostileLinesTakeLinearTime) {
  EXPECT_FALSE(Apply({std::string(1'000'000, '=')}).ok());
  EXPECT_FALSE(Apply({std::string(1'000'000, ':') + "->"}).ok());
  std::string arrows;
  while (arrows.size() < 1'000'000) arrows += "<-";
  EXPECT_FALSE(Apply({arrows}).ok());
}

TEST_F(PinsTest, PinsOfTheGraph) {
  graph_.tensors[0].layout_pin = NdSbp{Sbp::Split(0), Sbp::Broadcast()};
  graph_.ops[2].signature_pin = {NdSbp(2), NdSbp(2), NdSbp(2)};
  ASSERT_TRUE(ApplyGraphPins(graph_, mesh_, pins_).ok());
  EXPECT_EQ(DumpPins(), "stack : (B, B), (B, B) -> (B, B)\nx:0 = (S(0), B)");
  graph_.tensors[0].layout_pin = NdSbp{Sbp::Split(0)};
  EXPECT_EQ(ApplyGraphPins(graph_, mesh_, pins_).message(),
            "pin of tensor \"x:0\" in the graph: layout S(0) is for 1 mesh axes; the mesh data=2,model=4 has 2");
}

TEST(PinsFile, OnePinALine) {
  const auto pins = ReadPinsFile("# all\n\nx=(B, B)  # why\r\n  a#1=S(0)\n", "my.pins");
  ASSERT_TRUE(pins.ok());
  ASSERT_EQ(pins->size(), 2U);
  EXPECT_EQ((*pins)[0].text, "x=(B, B)");
  EXPECT_EQ((*pins)[0].where, "my.pins:3");
  EXPECT_EQ((*pins)[1].text, "a#1=S(0)");
  EXPECT_EQ(ReadPinsFile("\n  hello", "my.pins").status().message(),
            StrCat("my.pins:2:3: \"hello\" is no pin; ", kForms));
}

}  // namespace
}  // namespace sbp
