#include "fold/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/builder.h"
#include "unit/fold/resolve_text.h"

namespace sbp {
namespace {

using testing::HasSubstr;

// x[n, c] -> Relu -> y, with given symbols.
Graph WithInput(TensorType type, std::vector<std::string> symbols) {
  GraphBuilder builder;
  builder.AddInput("x", std::move(type), std::move(symbols));
  builder.AddOp("Relu", "relu", {"x"}, {"y"});
  builder.AddOutput("y");
  return Build(std::move(builder));
}

TEST(BindTest, Rows) {
  struct ResolveRow {
    std::vector<std::string> symbols;
    std::map<std::string, int64_t> bindings;
    std::string expected;  // y's line, or a part of the error
  };
  const ResolveRow rows[] = {
      {{"n", "c"}, {{"n", 2}, {"c", 3}}, "y f32[2,3]"},
      {{"n", "n + 1"}, {{"n", 2}}, "y f32[2,3]"},
      {{"n", "n + 1"}, {{"n + 1", 8}}, "y f32[7,8]"},
      {{"n", "n + 1"}, {{"n", 7}, {"n + 1", 8}}, "y f32[7,8]"},
      {{"n", "n + 1"}, {{"n", 7}, {"n + 1", 9}}, "\"n + 1\" is 8 there, and 9 here"},
      {{"n", "2*n"}, {{"2*n", 9}}, "no size of \"n\" makes \"2*n\" equal 9"},
      {{"n", "c"}, {{"x[0]", 4}, {"x[1]", 5}}, "y f32[4,5]"},
      {{"n", "c"}, {{"n", 4}, {"x[0]", 5}, {"c", 1}}, "contradicts"},
      {{"x[0]", "x[1]"}, {{"x[0]", 4}, {"x[1]", 5}}, "y f32[4,5]"},
      {{"n", "c"}, {{"n", 2}, {"channels", 3}}, "no symbolic dimension \"channels\""},
      {{"batch", "c"}, {{"bacth", 2}, {"c", 3}}, "did you mean \"batch\"?"},
      {{"n", "c"}, {{"n", -2}, {"c", 3}}, "cannot be negative"},
      {{"n", "c"},
       {},
       "2 symbolic dimensions have no size:\n  n: \"x\" dimension 0\n  c: \"x\" dimension 1\ngive --dim n=N --dim c=N"},
      {{"a + b", "c"}, {{"c", 1}}, "a: \"x\" dimension 0 (a + b)"},
      {{"a + b", "c"}, {{"a + b", 6}, {"c", 1}}, "y f32[6,1]"},  // the whole text decides
      {{"n - 5", "c"}, {{"n", 2}, {"c", 1}}, "negative: -3"},
  };
  for (const ResolveRow& row : rows) {
    ResolveOptions options;
    options.bindings = row.bindings;
    EXPECT_THAT(Show(Resolve(WithInput(T("f32[?,?]"), row.symbols), Rules(), options)), HasSubstr(row.expected));
  }
}

TEST(BindTest, ShapesOfRealInputs) {
  const Graph graph = WithInput(T("f32[?,4]"), {"n", ""});
  ResolveOptions options;
  options.input_shapes = {{"x", {3, 4}}};
  EXPECT_THAT(Show(Resolve(graph, Rules(), options)), HasSubstr("y f32[3,4]"));
  options.input_shapes = {{"x", {3, 5}}};
  EXPECT_THAT(Show(Resolve(graph, Rules(), options)),
              HasSubstr("says 5, but the model fixes dimension 1 of input \"x\" to 4"));
  options.input_shapes = {{"x", {3}}};
  EXPECT_THAT(Show(Resolve(graph, Rules(), options)), HasSubstr("has 1 dimensions, the model's input has 2"));
  options.input_shapes = {{"z", {3}}};
  EXPECT_THAT(Show(Resolve(graph, Rules(), options)), HasSubstr("no input \"z\""));
}

TEST(FoldTest, ShapeArithmeticDisappears) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[?,8,16]"), {"n", "", ""});
  AddInts(builder, "zero", {0}, true);
  AddInts(builder, "first", {0});
  AddInts(builder, "rest", {-1});
  builder.AddOp("Shape", "shape", {"x"}, {"s"});
  builder.AddOp("Gather", "gather", {"s", "zero"}, {"n"}, Axis(0));
  builder.AddOp("Unsqueeze", "unsqueeze", {"n", "first"}, {"n1"});
  builder.AddOp("Concat", "concat", {"n1", "rest"}, {"target"}, Axis(0));
  builder.AddOp("Reshape", "reshape", {"x", "target"}, {"y"});
  builder.AddOp("Relu", "unused", {"x"}, {"z"});
  builder.AddOutput("y");
  ResolveOptions options;
  options.bindings["n"] = 4;
  EXPECT_EQ(Show(Resolve(Build(std::move(builder)), Rules(), options)),
            "x f32[4,8,16]\ntarget i64[2]\ny f32[4,128]\nReshape\n");
}

TEST(FoldTest, WeightsKeepTheirNames) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[2,2]"));
  Literal weight;
  weight.type = T("f32[2,2]");
  weight.floats = {1, 2, 3, 4};
  builder.AddParameter("w", weight.type, std::make_shared<Literal>(weight));
  builder.AddOp("Transpose", "transpose", {"w"}, {"wt"});
  builder.AddOp("MatMul", "matmul", {"x", "wt"}, {"y"});
  builder.AddOutput("y");
  EXPECT_EQ(Show(Resolve(Build(std::move(builder)), Rules(), {})),
            "x f32[2,2]\nw f32[2,2]\nwt f32[2,2]\ny f32[2,2]\nTranspose\nMatMul\n");
}

// A constant of more than kMaxLiteralElements elements is never made.
TEST(FoldTest, LargeConstantsStayOps) {
  GraphBuilder builder;
  AddInts(builder, "shape", {1000000, 1000000});
  builder.AddOp("ConstantOfShape", "fill", {"shape"}, {"y"});
  builder.AddOutput("y");
  EXPECT_EQ(Show(Resolve(Build(std::move(builder)), Rules(), {})),
            "shape i64[2]\ny f32[1000000,1000000]\nConstantOfShape\n");
}

TEST(FoldTest, FlattenedSoftmax) {
  struct ResolveRow {
    std::string type;
    int64_t axis;
    std::string ops;
    int64_t new_axis;
  };
  const ResolveRow rows[] = {
      {"f32[2,3]", 1, "Softmax\n", 1},
      {"f32[2,3,1,1]", 1, "Softmax\n", 1},
      {"f32[2,3,4]", -1, "Softmax\n", 2},
      {"f32[2,3,4]", 1, "Flatten\nSoftmax\nReshape\n", 1},
  };
  for (const ResolveRow& row : rows) {
    SCOPED_TRACE(row.type);
    GraphBuilder builder;
    builder.AddInput("x", T(row.type));
    Attributes attributes = Axis(row.axis);
    attributes.Set(std::string(kFlattenFrom), row.axis);
    builder.AddOp("Softmax", "softmax", {"x"}, {"y"}, attributes);
    builder.AddOutput("y");
    const Result<Resolved> resolved = Resolve(Build(std::move(builder)), Rules(), {});
    ASSERT_TRUE(resolved.ok()) << resolved.status().message();
    EXPECT_THAT(Show(resolved), HasSubstr(row.ops));
    EXPECT_THAT(Show(resolved), HasSubstr(StrCat("y ", row.type)));
    for (const Op& op : resolved->graph.ops) {
      if (resolved->graph.type_of(op) == "Softmax") {
        EXPECT_EQ(op.attributes->Int("axis", -9), row.new_axis);
      }
      EXPECT_EQ(op.attributes->Find(kFlattenFrom), nullptr);
    }
  }
}

TEST(FoldTest, UnknownOps) {
  const auto graph = [](bool stated) {
    GraphBuilder builder;
    builder.AddInput("x", T("f32[2,3]"));
    builder.AddOp("acme::Twist", "twist", {"x"}, {"y"});
    if (stated) builder.DescribeTensor("y", T("f32[3,2]"));
    builder.AddOutput("y");
    return Build(std::move(builder));
  };
  const Result<Resolved> resolved = Resolve(graph(true), Rules(), {});
  ASSERT_TRUE(resolved.ok());
  EXPECT_THAT(Show(resolved), HasSubstr("y f32[3,2]"));
  ASSERT_EQ(resolved->warnings.size(), 1u);
  EXPECT_THAT(resolved->warnings[0], HasSubstr("no rule for acme::Twist"));
  EXPECT_THAT(Show(Resolve(graph(false), Rules(), {})), HasSubstr("does not state the shape of its result \"y\""));
  ResolveOptions strict;
  strict.strict = true;
  EXPECT_THAT(Show(Resolve(graph(true), Rules(), strict)), HasSubstr("--rules FILE"));
}

TEST(FoldTest, ErrorsNameTheOp) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[2,3]"));
  builder.AddInput("w", T("f32[4,5]"));
  builder.AddOp("MatMul", "proj", {"x", "w"}, {"y"});
  builder.AddOutput("y");
  const Result<Resolved> resolved = Resolve(Build(std::move(builder)), Rules(), {});
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.status().code(), Code::kBadInput);
  EXPECT_THAT(resolved.status().message(), HasSubstr("op \"proj\""));
}

// Axes that are an input of the model: only running decides them, unless --inputs gives them.
Graph WithAxesInput(bool stated) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[2,3,4]"));
  builder.AddInput("axes", T("i64[1]"));
  builder.AddOp("ReduceSum", "sum", {"x", "axes"}, {"y"});
  if (stated) builder.DescribeTensor("y", T("f32[2,1,4]"));
  builder.AddOutput("y");
  return Build(std::move(builder));
}

TEST(FoldTest, ValuesThatOnlyRunningDecides) {
  EXPECT_THAT(Show(Resolve(WithAxesInput(true), Rules(), {})), HasSubstr("y f32[2,1,4]"));
  EXPECT_THAT(Show(Resolve(WithAxesInput(false), Rules(), {})),
              HasSubstr("it is the model's input \"axes\": give real inputs with --inputs X.npz"));
  ResolveOptions options;
  options.input_values = {{"axes", std::make_shared<Literal>(Literal::Ints({2}))}};
  EXPECT_THAT(Show(Resolve(WithAxesInput(false), Rules(), options)), HasSubstr("y f32[2,3,1]"));
}

// A given value decides shapes through arithmetic and a branch too, and data that no shape needs is left alone.
TEST(FoldTest, GivenValuesDecideShapesThroughArithmetic) {
  GraphBuilder builder;
  builder.AddInput("size", T("i64[2]"));
  builder.AddInput("data", T("i64[2]"));
  AddInts(builder, "two", {2});
  builder.AddOp("Mul", "twice", {"size", "two"}, {"doubled"});
  builder.AddOp("ConstantOfShape", "make", {"doubled"}, {"zeros"});
  builder.AddOp("Mul", "other", {"data", "two"}, {"kept"});
  builder.AddOutput("zeros");
  builder.AddOutput("kept");
  ResolveOptions options;
  options.input_values = {{"size", std::make_shared<Literal>(Literal::Ints({2, 3}))},
                          {"data", std::make_shared<Literal>(Literal::Ints({7, 8}))}};
  const std::string text = Show(Resolve(Build(std::move(builder)), Rules(), options));
  EXPECT_THAT(text, HasSubstr("zeros f32[4,6]"));
  EXPECT_THAT(text, HasSubstr("\nMul\n"));
}

// Tile by a count that `cause` makes.
TEST(FoldTest, CausesOfUnknownValues) {
  const auto tile = [](const std::function<void(GraphBuilder&)>& cause) {
    GraphBuilder builder;
    builder.AddInput("x", T("f32[8]"));
    cause(builder);
    builder.AddOp("Tile", "tile", {"x", "count"}, {"y"});
    builder.AddOutput("y");
    return Build(std::move(builder));
  };
  const Graph input = tile([](GraphBuilder& builder) {
    builder.AddInput("n", T("i64[]"));
    AddInts(builder, "zero", {0});
    builder.AddOp("Unsqueeze", "unsqueeze", {"n", "zero"}, {"count"});
  });
  EXPECT_THAT(Show(Resolve(input, Rules(), {})),
              HasSubstr("follows from the model's input \"n\": give real inputs with --inputs X.npz"));
  ResolveOptions options;
  options.input_values = {{"n", std::make_shared<Literal>(Literal::Scalar(3))}};
  EXPECT_THAT(Show(Resolve(input, Rules(), options)), HasSubstr("y f32[24]"));
  const Graph external = tile([](GraphBuilder& builder) {
    const TensorId id = builder.AddParameter("count", T("i64[1]"));
    builder.graph().tensor(id).data = DataReference{"m.data", 0, 8};
  });
  EXPECT_THAT(Show(Resolve(external, Rules(), {})),
              HasSubstr("the value of \"count\" is in external file \"m.data\", which is absent, too short"));
  const Graph computed = tile([](GraphBuilder& builder) {
    builder.AddInput("a", T("i64[1,1]"));
    AddInts(builder, "one", {1});
    builder.AddOp("MatMul", "product", {"a", "one"}, {"count"});
  });
  EXPECT_THAT(Show(Resolve(computed, Rules(), {})), HasSubstr("op \"product\" (MatMul) computes it only when it runs"));
  struct FoldRow {
    std::string op;
    std::vector<int64_t> a, b;
    std::string expected;
  };
  for (const FoldRow& row : {
           FoldRow{"Div", {6}, {0}, "op \"make\" (Div) could not be folded: an operand holds 0"},
           FoldRow{"Mod", {6}, {0}, "op \"make\" (Mod) could not be folded: an operand holds 0"},
           FoldRow{"Div", {INT64_MIN}, {-1}, "could not be folded: a result does not fit its type"},
           FoldRow{"Gather", {6}, {99}, "op \"make\" (Gather) could not be folded: an index is out of range"},
           FoldRow{"Expand", {6}, {1 << 20}, "\"count\" is i64[1048576], more than 4096 elements"},
       }) {
    const Graph failing = tile([&](GraphBuilder& builder) {
      AddInts(builder, "a", row.a);
      AddInts(builder, "b", row.b);
      builder.AddOp(row.op, "make", {"a", "b"}, {"count"});
    });
    EXPECT_THAT(Show(Resolve(failing, Rules(), {})), HasSubstr(row.expected));
  }
}

// An error about something else advises nothing.
TEST(FoldTest, InputsAreNotAskedForInVain) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[8]"));
  builder.AddOp("Where", "where", {"x", "x", "x"}, {"y"});
  builder.AddOutput("y");
  const std::string error = Show(Resolve(Build(std::move(builder)), Rules(), {}));
  EXPECT_THAT(error, HasSubstr("must be bool tensor, not f32 tensor"));
  EXPECT_THAT(error, testing::Not(HasSubstr("--inputs")));
}

TEST(FoldTest, InputsWithoutAShape) {
  GraphBuilder builder;
  TensorType type = T("f32[1]");
  type.kind = ValueKind::kSequence;
  type.has_rank = false;
  type.shape.clear();
  builder.AddInput("list", type);
  builder.AddOp("Identity", "copy", {"list"}, {"y"});
  builder.AddOutput("y");
  const Result<Resolved> resolved = Resolve(Build(std::move(builder)), Rules(), {});
  EXPECT_EQ(resolved.status().code(), Code::kBadInput);
  EXPECT_THAT(Show(resolved), HasSubstr("whose elements have no shape in the model"));
}

// Sizes that only running decides: at most their bound, less where the model or a flag says so.
Graph WithNonZero(std::string_view stated, std::vector<std::string> symbols, std::string_view further) {
  GraphBuilder builder;
  builder.AddInput("m", T("bool[100]"));
  builder.AddOp("NonZero", "nonzero", {"m"}, {"n"});
  builder.AddOp("Transpose", "transpose", {"n"}, {"t"});
  builder.AddOp("Cast", "cast", {"t"}, {"y"}, [] {
    Attributes attributes;
    attributes.Set("to", int64_t{1});
    return attributes;
  }());
  if (!stated.empty()) builder.DescribeTensor("n", T(stated), std::move(symbols));
  if (!further.empty()) builder.DescribeTensor("y", T(further));
  builder.AddOutput("y");
  return Build(std::move(builder));
}

TEST(BoundTest, StatedSizesWithinTheBoundWin) {
  struct BoundRow {
    std::string stated;
    std::vector<std::string> symbols;
    std::string further;
    std::map<std::string, int64_t> bindings;
    std::string expected;
    std::vector<std::string> warnings;  // a part of each
  };
  const BoundRow rows[] = {
      {"",
       {},
       "",
       {},
       "n i64[1,100]\nt i64[100,1]\ny f32[100,1]\n",
       {"upper bound: op \"nonzero\" (NonZero): \"n\" i64[1,100]"}},
      {"i64[1,64]",
       {},
       "",
       {},
       "n i64[1,64]\nt i64[64,1]\ny f32[64,1]\n",
       {"\"n\" i64[1,64] (how many elements are not zero"}},
      {"i64[1,?]", {"", "K"}, "", {{"K", 64}}, "y f32[64,1]\n", {"taken as 64, which is stated; at most 100"}},
      {"",
       {},
       "f32[64,1]",
       {},
       "n i64[1,64]\nt i64[64,1]\ny f32[64,1]\n",
       {"as stated further on; at most i64[1,100]"}},
      {"i64[1,640]", {}, "", {}, "y f32[100,1]\n", {"is stated as i64[1,640], and is i64[1,100]", "upper bound"}},
      {"i64[1,?]",
       {"", "K"},
       "",
       {{"K", 640}},
       "y f32[100,1]\n",
       {"--dim K=640: op \"nonzero\" (NonZero): dimension 1 of \"n\" is 100", "upper bound"}},
  };
  for (const BoundRow& row : rows) {
    SCOPED_TRACE(row.expected + row.stated);
    ResolveOptions options;
    options.bindings = row.bindings;
    const Result<Resolved> resolved = Resolve(WithNonZero(row.stated, row.symbols, row.further), Rules(), options);
    EXPECT_THAT(Show(resolved), HasSubstr(row.expected));
    ASSERT_TRUE(resolved.ok());
    ASSERT_EQ(resolved->warnings.size(), row.warnings.size()) << Join(resolved->warnings, "\n");
    for (size_t i = 0; i < row.warnings.size(); ++i) EXPECT_THAT(resolved->warnings[i], HasSubstr(row.warnings[i]));
  }
}

// A size that was used for something else stays.
TEST(BoundTest, SizesInUseStay) {
  GraphBuilder builder;
  builder.AddInput("m", T("bool[100]"));
  builder.AddInput("x", T("i64[1,100]"));
  builder.AddOp("NonZero", "nonzero", {"m"}, {"n"});
  builder.AddOp("Add", "add", {"n", "x"}, {"y"});
  builder.DescribeTensor("y", T("i64[1,64]"));
  builder.AddOutput("y");
  const Result<Resolved> resolved = Resolve(Build(std::move(builder)), Rules(), {});
  EXPECT_THAT(Show(resolved), HasSubstr("n i64[1,100]\ny i64[1,100]\n"));
  ASSERT_TRUE(resolved.ok());
  EXPECT_THAT(resolved->warnings[0], HasSubstr("is stated as i64[1,64], and is i64[1,100]"));
}

TEST(BoundTest, TopKOfAComputedCount) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[12,100]"));
  builder.AddInput("k", T("i64[1]"));
  builder.AddOp("TopK", "top", {"x", "k"}, {"values", "indices"});
  builder.DescribeTensor("values", T("f32[12,5]"));
  builder.AddOutput("values");
  builder.AddOutput("indices");
  EXPECT_THAT(Show(Resolve(Build(std::move(builder)), Rules(), {})),
              HasSubstr("values f32[12,5]\nindices i64[12,5]\n"));
}

// Nothing bounds a range: what a later tensor is stated as decides it.
TEST(BoundTest, RangeOfAComputedLimit) {
  const auto graph = [](std::string_view stated, bool other_use) {
    GraphBuilder builder;
    builder.AddInput("n", T("i64[]"));
    AddInts(builder, "zero", {0}, true);
    AddInts(builder, "one", {1}, true);
    builder.AddOp("Range", "range", {"zero", "n", "one"}, {"r"});
    builder.AddOp("Add", "add", {"r", "one"}, {"s"});
    if (other_use) builder.AddOp("Shape", "shape", {"s"}, {"used"});
    builder.AddOp("Neg", "neg", {"s"}, {"y"});
    if (!stated.empty()) builder.DescribeTensor("y", T(stated));
    builder.AddOutput("y");
    if (other_use) builder.AddOutput("used");
    return Build(std::move(builder));
  };
  const Result<Resolved> resolved = Resolve(graph("i64[10]", false), Rules(), {});
  EXPECT_THAT(Show(resolved), HasSubstr("r i64[10]\ns i64[10]\ny i64[10]\n"));
  ASSERT_TRUE(resolved.ok());
  EXPECT_THAT(resolved->warnings, testing::ElementsAre(HasSubstr("\"r\" i64[10] (as stated further on)")));
  const std::string failure = "op \"range\": Range(): the value of operand 1 must be known";
  EXPECT_THAT(Show(Resolve(graph("", false), Rules(), {})), HasSubstr(failure));
  EXPECT_THAT(Show(Resolve(graph("i64[10]", true), Rules(), {})), HasSubstr(failure));
}

}  // namespace
}  // namespace sbp
