#include "aten/lower.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

using testing::HasSubstr;
using testing::Not;

// A graph of one op on x f32[4,6] and w f32[6,6], with a result y.
class LowerTest : public testing::Test {
 protected:
  LowerTest() { attributes_.Set("_operands", std::vector<std::string>{}); }

  void Operands(const std::vector<std::string>& names) { attributes_.Set("_operands", names); }

  std::string Lower(const std::string& type, const std::vector<std::string>& inputs, const TensorType& result,
                    const std::string& own_rules = "") {
    static const Result<RuleSet> builtin = RuleSet::Builtin();
    EXPECT_TRUE(builtin.ok());
    Result<RuleSet> rules = builtin;
    EXPECT_EQ(rules->Add(own_rules, "my.rules").message(), "");
    GraphBuilder builder("g");
    builder.AddInput("x", {DType::kF32, {4, 6}});
    builder.AddParameter("w", {DType::kF32, {6, 6}});
    builder.AddOp(type, "node", inputs, {"y"}, attributes_, "layers.0/mlp");
    builder.graph().ops.back().metadata.emplace_back("source", "net.py:7");
    builder.DescribeTensor("y", result, symbols_);
    builder.AddOutput("y");
    Result<Graph> graph = builder.Build("test");
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    EXPECT_TRUE(HasAtenOps(*graph));
    const auto size_of = [](std::string_view text) -> Result<int64_t> {
      if (text == "s0") return int64_t{4};
      return BadInput(StrCat("unknown symbol ", text));
    };
    const Result<Graph> lowered = LowerAten(std::move(*graph), *rules, size_of);
    if (!lowered.ok()) return lowered.status().message();
    EXPECT_FALSE(HasAtenOps(*lowered));
    return Dump(*lowered);
  }

  Attributes attributes_;
  std::vector<std::string> symbols_;  // of the result
};

TEST_F(LowerTest, OperandsGoByNameAndOneOpKeepsItsNameScopeAndSource) {
  Operands({"mat2", "self"});
  const std::string dump = Lower("aten::mm", {"w", "x"}, {DType::kF32, {4, 6}});
  EXPECT_THAT(dump, HasSubstr("op node MatMul(x, w) -> (y)"));
  EXPECT_THAT(dump, HasSubstr("layers.0/mlp"));
}

TEST_F(LowerTest, SizesOverSymbolsBecomeNumbers) {
  Operands({"self"});
  attributes_.Set("split_size", std::vector<std::string>{"s0"});
  attributes_.Set("dim", int64_t{1});
  attributes_.Set("_symbolic", std::vector<std::string>{"split_size"});
  EXPECT_THAT(Lower("aten::split.Tensor", {"x"}, {DType::kF32, {4, 4}}), HasSubstr("value=[4]"));
}

TEST_F(LowerTest, ASizeThatDataDecideIsNamed) {
  Operands({"self"});
  attributes_.Set("split_size", std::vector<std::string>{"(u0 + 1)"});
  attributes_.Set("dim", int64_t{1});
  attributes_.Set("_symbolic", std::vector<std::string>{"split_size"});
  EXPECT_THAT(Lower("aten::split.Tensor", {"x"}, {DType::kF32, {4, 4}}),
              HasSubstr("\"split_size\" has the size (u0 + 1), which data decide; write the model"));
  attributes_.Set("split_size", std::vector<std::string>{"(up + s0)"});
  EXPECT_THAT(Lower("aten::split.Tensor", {"x"}, {DType::kF32, {4, 4}}), HasSubstr("unknown symbol"));
}

TEST_F(LowerTest, OfTwoListsTheFirstIsWrittenOneByOne) {
  Operands({"a", "a", "b", "b"});
  const std::string dump = Lower("aten::two", {"x", "w", "x", "w"}, {DType::kF32, {4, 6}},
                                 "op aten::two(Tensor a0, Tensor a1, Tensor[] b) -> Tensor y\n"
                                 "  expand\n    y = MatMul(a0, a1) + MatMul(b[0], b[1])\n");
  EXPECT_THAT(dump, HasSubstr("MatMul(x, w)"));
  EXPECT_THAT(dump, HasSubstr("Add("));
}

// Other names of an op take its row; complex numbers are pairs.
TEST_F(LowerTest, AliasesAndComplexNumbers) {
  Operands({"self", "other"});
  EXPECT_THAT(Lower("aten::subtract.Tensor", {"x", "x"}, {DType::kF32, {4, 6}}), HasSubstr("Sub(x, x)"));
  Operands({"real", "imag"});
  EXPECT_THAT(Lower("aten::complex", {"x", "x"}, {DType::kC64, {4, 6}}), HasSubstr("f32[4,6,2]"));
}

TEST_F(LowerTest, AllOpsWithoutARowAreListed) {
  Operands({"self"});
  const std::string message = Lower("aten::no_such_op", {"x"}, {DType::kF32, {4, 6}});
  EXPECT_THAT(message, HasSubstr("aten::no_such_op, 1 op: op \"node\", aten::no_such_op (net.py:7)"));
  EXPECT_THAT(message, HasSubstr("--rules FILE"));
}

TEST_F(LowerTest, AUsersRowComesFirst) {
  Operands({"self"});
  const std::string row = "op aten::relu(Tensor self) -> Tensor y\n  expand\n    y = Tanh(self)\n";
  EXPECT_THAT(Lower("aten::relu", {"x"}, {DType::kF32, {4, 6}}, row), HasSubstr("op node Tanh(x) -> (y)"));
}

TEST_F(LowerTest, AUsersOpWithARuleAloneStays) {
  Operands({"weight", "input"});
  const std::string rule = "op mine::gate(Tensor input, Tensor weight) -> Tensor y\n  rule m k, k n -> m n\n";
  EXPECT_THAT(Lower("mine::gate", {"w", "x"}, {DType::kF32, {4, 6}}, rule),
              HasSubstr("op node mine::gate(x, w) -> (y)"));
}

TEST_F(LowerTest, AnArgumentThatTheRowLacksIsAnError) {
  Operands({"self"});
  attributes_.Set("inplace", int64_t{1});
  EXPECT_THAT(Lower("aten::relu", {"x"}, {DType::kF32, {4, 6}}), HasSubstr("unknown attribute 'inplace'"));
}

TEST_F(LowerTest, AResultWhoseSizeDataDecideIsAnError) {
  Operands({"self"});
  EXPECT_THAT(Lower("aten::relu", {"x"}, {DType::kF32, {kUnknownDim, 6}}), HasSubstr("is decided by data"));
}

// A size that has a name may be stated by who knows more than the program.
TEST_F(LowerTest, HowASizeOfDataIsStatedIsSaid) {
  Operands({"self"});
  EXPECT_THAT(Lower("aten::relu", {"x"}, {DType::kF32, {kUnknownDim, 6}}), Not(HasSubstr("--dim")));
  symbols_ = {"u0", ""};
  EXPECT_THAT(Lower("aten::relu", {"x"}, {DType::kF32, {kUnknownDim, 6}}), HasSubstr("state it with --dim u0=N, or "));
}

TEST_F(LowerTest, ARowThatGivesAnotherShapeThanTheFileIsAnError) {
  Operands({"self"});
  EXPECT_THAT(Lower("aten::relu", {"x"}, {DType::kF32, {4, 7}}), HasSubstr("gives result y as f32[4,6]"));
}

}  // namespace
}  // namespace sbp
