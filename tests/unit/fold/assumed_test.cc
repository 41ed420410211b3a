#include "fold/assumed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rule/assumed_dims.h"
#include "unit/fold/resolve_text.h"

namespace sbp {
namespace {

// x f32[8,6], of which the rows are taken where v f32[8] is not zero: taken f32[at most 8,6].
GraphBuilder Chosen() {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[8,6]"));
  builder.AddInput("v", T("f32[8]"));
  AddInts(builder, "flat", {-1});
  AddInts(builder, "zero", {0}, true);
  AddInts(builder, "one", {1}, true);
  builder.AddOp("NonZero", "find", {"v"}, {"places"});
  builder.AddOp("Reshape", "rows", {"places", "flat"}, {"row"});
  builder.AddOp("Gather", "take", {"x", "row"}, {"taken"});
  builder.AddOp("Shape", "shape", {"taken"}, {"sizes"});
  return builder;
}

const Tensor& Named(const Graph& graph, std::string_view name) { return graph.tensor(NameIndex(graph).tensor(name)); }

TEST(Assumed, OnlyWhatDependsOnDataStays) {
  GraphBuilder builder = Chosen();
  builder.AddOp("Gather", "count", {"sizes", "zero"}, {"n"});
  builder.AddOp("Gather", "width", {"sizes", "one"}, {"six"});
  builder.AddOp("Mul", "double", {"n", "six"}, {"all"});
  builder.AddOp("Range", "up", {"zero", "all", "one"}, {"y"});
  builder.AddOp("Range", "columns", {"zero", "six", "one"}, {"z"});
  builder.AddOutput("y");
  builder.AddOutput("z");
  const Result<Resolved> resolved = Resolve(Build(std::move(builder)), Rules(), {});
  ASSERT_TRUE(resolved.ok()) << resolved.status().message();
  const Graph& graph = resolved->graph;
  EXPECT_THAT(Show(resolved), testing::HasSubstr("NonZero\nReshape\nGather\nShape\nGather\nMul\nRange\n"));
  // Planned with the bound.
  EXPECT_EQ(Named(graph, "n").role, TensorRole::kActivation);
  ASSERT_NE(Named(graph, "all").literal, nullptr);
  EXPECT_EQ(Named(graph, "all").literal->ints, std::vector<int64_t>{48});
  EXPECT_EQ(Named(graph, "y").type, T("i64[48]"));
  // What no data decides is folded.
  EXPECT_EQ(Named(graph, "six").role, TensorRole::kParameter);
  EXPECT_EQ(Named(graph, "z").role, TensorRole::kParameter);
}

TEST(Assumed, ABranchIsNotChosenByAnAssumedSize) {
  for (const std::string size : {"zero", "one"}) {  // of taken's rows, or of its columns
    const auto branch = [](std::string_view op) {
      GraphBuilder body;
      body.AddInput("x", T("f32[8,6]"));
      body.AddOp(std::string(op), "inner", {"x"}, {"inner_y"});
      body.AddOutput("inner_y");
      return std::make_shared<const Graph>(Build(std::move(body)));
    };
    GraphBuilder builder = Chosen();
    builder.AddOp("Gather", "size", {"sizes", size}, {"n"});
    builder.AddOp("Equal", "none", {"n", "zero"}, {"is_none"});
    Attributes branches;
    branches.Set("then_branch", branch("Relu"));
    branches.Set("else_branch", branch("Neg"));
    builder.AddOp("If", "choose", {"is_none"}, {"y"}, std::move(branches));
    builder.AddOutput("y");
    Graph graph = Build(std::move(builder));
    const TensorId x = NameIndex(graph).tensor("x");
    graph.op(NameIndex(graph).op("choose")).captures = {x, x};
    const std::string text = Show(Resolve(std::move(graph), Rules(), {}));
    if (size == "zero")
      EXPECT_THAT(text, testing::EndsWith("Equal\nIf\n"));
    else
      EXPECT_THAT(text, testing::EndsWith("\nNeg\n"));
  }
}

TEST(Assumed, RegroupedRowsStayTogether) {
  GraphBuilder builder = Chosen();
  AddInts(builder, "three", {-1, 3});
  builder.AddOp("Reshape", "regroup", {"taken", "three"}, {"threes"});
  builder.AddOp("Reshape", "fixed", {"x", "three"}, {"others"});
  builder.AddOutput("threes");
  builder.AddOutput("others");
  const Result<Resolved> resolved = Resolve(Build(std::move(builder)), Rules(), {});
  ASSERT_TRUE(resolved.ok()) << resolved.status().message();
  const Graph& graph = resolved->graph;
  const std::vector<int64_t>* assumed = graph.op(NameIndex(graph).op("regroup")).attributes->Ints(kAssumedDims);
  ASSERT_NE(assumed, nullptr);
  EXPECT_EQ(*assumed, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(graph.op(NameIndex(graph).op("fixed")).attributes->Ints(kAssumedDims), nullptr);
  EXPECT_EQ(graph.op(NameIndex(graph).op("take")).attributes->Ints(kAssumedDims), nullptr);
}

// Which elements of which input a graph relies on, and what stays computed.
TEST(Assumptions, OnlyWhatShapesIsAssumed) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[8]"));
  builder.AddInput("sizes", T("i64[3]"));
  builder.AddInput("pos", T("i64[]"));
  AddInts(builder, "second", {1});
  AddInts(builder, "first", {0}, true);
  builder.AddOp("Gather", "pick", {"sizes", "second"}, {"n"});
  builder.AddOp("Expand", "expand", {"x", "n"}, {"y"});
  builder.AddOp("Gather", "other", {"sizes", "first"}, {"free"});
  builder.AddOp("Add", "add", {"free", "pos"}, {"z"});
  builder.AddOutput("y");
  builder.AddOutput("z");
  ResolveOptions options;
  options.input_values = {{"sizes", std::make_shared<Literal>(Literal::Ints({5, 8, 7}))},
                          {"pos", std::make_shared<Literal>(Literal::Scalar(3))}};
  const Graph graph = Build(std::move(builder));
  const Result<Resolved> resolved = Resolve(graph, Rules(), options);
  ASSERT_TRUE(resolved.ok()) << resolved.status().message();
  ASSERT_EQ(resolved->graph.assumptions.size(), 1u);
  EXPECT_EQ(resolved->graph.assumptions[0].input, "sizes");
  EXPECT_EQ(resolved->graph.assumptions[0].elements, std::vector<int64_t>{1});
  EXPECT_THAT(Show(resolved), testing::EndsWith("Expand\nGather\nAdd\n"));
  // Without folding all is computed.
  options.keep_ops = true;
  EXPECT_THAT(Show(Resolve(graph, Rules(), options)), testing::EndsWith("Gather\nExpand\nGather\nAdd\n"));
}

TEST(Assumptions, MovedElementsKeepTheirSources) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[2,3]"));
  builder.AddInput("a", T("i32[2]"));
  builder.AddInput("b", T("i64[1]"));
  AddInts(builder, "one", {1});
  AddInts(builder, "two", {2});
  AddInts(builder, "zero", {0});
  Attributes to;
  to.Set("to", static_cast<int64_t>(DType::kI64));
  builder.AddOp("Cast", "cast", {"a"}, {"wide"}, std::move(to));
  builder.AddOp("Concat", "join", {"wide", "b"}, {"all"}, Axis(0));
  builder.AddOp("Slice", "end", {"all", "one", "two", "zero"}, {"size"});
  builder.AddOp("Mul", "twice", {"size", "two"}, {"doubled"});
  builder.AddOp("ConstantOfShape", "make", {"doubled"}, {"y"});
  builder.AddOutput("y");
  ResolveOptions options;
  options.input_values = {{"a", std::make_shared<Literal>(Literal::Ints({9, 4}, DType::kI32))},
                          {"b", std::make_shared<Literal>(Literal::Ints({7}))}};
  const Result<Resolved> resolved = Resolve(Build(std::move(builder)), Rules(), options);
  ASSERT_TRUE(resolved.ok()) << resolved.status().message();
  EXPECT_THAT(Show(resolved), testing::HasSubstr("y f32[8]"));
  ASSERT_EQ(resolved->graph.assumptions.size(), 1u);
  EXPECT_EQ(ToString(resolved->graph.assumptions[0]), "[1]=4");
}

}  // namespace
}  // namespace sbp
