// Subgraphs: If, Loop and Scan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "fold/resolve.h"
#include "graph/builder.h"
#include "unit/fold/resolve_text.h"

namespace sbp {
namespace {

using testing::HasSubstr;

using GraphRef = std::shared_ptr<const Graph>;

// A branch that applies `op` to its one captured tensor.
GraphRef Branch(std::string_view op, std::string_view perm = "") {
  GraphBuilder builder;
  TensorType unknown;
  unknown.has_rank = false;
  builder.AddInput("captured", unknown);
  Attributes attributes;
  if (!perm.empty()) attributes.Set("perm", std::vector<int64_t>{1, 0});
  builder.AddOp(op, "inner", {"captured"}, {"result"}, attributes);
  builder.AddOutput("result");
  return std::make_shared<Graph>(Build(std::move(builder)));
}

Graph WithIf(TensorType condition, LiteralRef known) {
  GraphBuilder builder;
  builder.AddInput("x", T("f32[2,3]"));
  if (known != nullptr)
    builder.AddParameter("c", condition, known);
  else
    builder.AddInput("c", condition);
  Attributes attributes;
  attributes.Set("then_branch", Branch("Relu"));
  attributes.Set("else_branch", Branch("Transpose", "perm"));
  const OpId id = builder.AddOp("If", "choose", {"c"}, {"y"}, attributes);
  builder.graph().op(id).captures = {builder.Tensor("x"), builder.Tensor("x")};
  builder.AddOutput("y");
  return Build(std::move(builder));
}

TEST(ControlTest, KnownConditionIsInlined) {
  const auto value = [](int64_t v) { return std::make_shared<Literal>(Literal::Scalar(v, DType::kBool)); };
  EXPECT_EQ(Show(Resolve(WithIf(T("bool[]"), value(1)), Rules(), {})), "x f32[2,3]\ny f32[2,3]\nRelu\n");
  EXPECT_EQ(Show(Resolve(WithIf(T("bool[]"), value(0)), Rules(), {})), "x f32[2,3]\ny f32[3,2]\nTranspose\n");
}

TEST(ControlTest, UnknownConditionIsKeptAtTheUpperBound) {
  const Result<Resolved> resolved = Resolve(WithIf(T("bool[]"), nullptr), Rules(), {});
  EXPECT_EQ(Show(resolved), "x f32[2,3]\nc bool[]\ny f32[3,3]\nIf\n");
  ASSERT_EQ(resolved->warnings.size(), 1u);
  EXPECT_THAT(resolved->warnings[0], HasSubstr("\"choose\" (If): its condition is not known"));
  size_t branches = 0;
  for (const auto& [name, value] : resolved->graph.ops[0].attributes->entries()) {
    const GraphRef* branch = std::get_if<GraphRef>(&value);
    if (branch == nullptr) continue;
    ++branches;
    for (const Tensor& tensor : (*branch)->tensors) EXPECT_TRUE(tensor.type.is_static()) << tensor.name;
  }
  EXPECT_EQ(branches, 2u);
  // A value given with --inputs decides.
  ResolveOptions options;
  options.input_values = {{"c", std::make_shared<Literal>(Literal::Scalar(1, DType::kBool))}};
  EXPECT_THAT(Show(Resolve(WithIf(T("bool[]"), nullptr), Rules(), options)), HasSubstr("y f32[2,3]\nRelu\n"));
}

// for i in trips: h = h + w; scan h; grown = concat(grown, h)
Graph WithLoop(LiteralRef trips, std::string_view stated = "") {
  GraphBuilder body("body");
  body.AddInput("i", T("i64[]"));
  body.AddInput("go", T("bool[]"));
  TensorType unknown;
  unknown.has_rank = false;
  body.AddInput("h", unknown);
  body.AddInput("grown", unknown);
  body.AddInput("w", unknown);
  body.AddOp("Add", "add", {"h", "w"}, {"h2"});
  body.AddOp("Concat", "concat", {"grown", "h2"}, {"grown2"}, Axis(0));
  body.AddOp("Identity", "scan", {"h2"}, {"each"});
  for (std::string_view output : {"go", "h2", "grown2", "each"}) body.AddOutput(output);
  GraphBuilder builder;
  if (trips != nullptr)
    builder.AddParameter("m", T("i64[]"), trips);
  else
    builder.AddInput("m", T("i64[]"));
  builder.AddInput("h0", T("f32[4]"));
  builder.AddInput("w", T("f32[4]"));
  builder.AddInput("g0", T("f32[1]"));
  Attributes attributes;
  attributes.Set("body", GraphRef(std::make_shared<Graph>(Build(std::move(body)))));
  const OpId id = builder.AddOp("Loop", "loop", {"m", "", "h0", "g0"}, {"h", "grown", "all"}, attributes);
  builder.graph().op(id).captures = {builder.Tensor("w")};
  for (std::string_view output : {"h", "grown", "all"}) builder.AddOutput(output);
  if (!stated.empty()) builder.DescribeTensor("all", T(stated));
  return Build(std::move(builder));
}

// A body that subtracts a captured row from each tensor of `s`, and counts the tensors beside it.
Graph WithSequenceMap(std::string_view type) {
  GraphBuilder body;
  TensorType unknown;
  unknown.has_rank = false;
  body.AddInput("entry", unknown);
  body.AddInput("row", unknown);
  body.AddOp("Sub", "sub", {"entry", "row"}, {"less"});
  body.AddOp("Shape", "shape", {"entry"}, {"sizes"});
  body.AddOutput("less");
  body.AddOutput("sizes");
  GraphBuilder builder;
  builder.AddInput("s", T(type));
  builder.AddInput("x", T("f32[3]"));
  Attributes attributes;
  attributes.Set("body", GraphRef(std::make_shared<Graph>(Build(std::move(body)))));
  const OpId id = builder.AddOp("SequenceMap", "map", {"s"}, {"y", "z"}, attributes);
  builder.graph().op(id).captures = {builder.Tensor("x")};
  builder.AddOp("SequenceLength", "count", {"y"}, {"n"});
  for (const char* output : {"y", "z", "n"}) builder.AddOutput(output);
  return Build(std::move(builder));
}

TEST(ControlTest, SequenceMapGivesSequencesOfTheSameLength) {
  const Result<Resolved> resolved = Resolve(WithSequenceMap("sequence(f32[4,2,3])"), Rules(), {});
  EXPECT_EQ(Show(resolved),
            "s sequence(f32[4,2,3])\nx f32[3]\ny sequence(f32[4,2,3])\nz sequence(i64[4,2])\nn i64[]\n"
            "SequenceMap\n");
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->graph.tensors.back().literal->ints, std::vector<int64_t>{4});
  EXPECT_THAT(resolved->warnings, testing::ElementsAre(HasSubstr("(SequenceMap): 4 steps")));
}

// The sizes of a body's tensors are the entries', which only running tells; folded, they would be the largest ones.
TEST(ControlTest, SizesOfEntriesThatMayDifferAreNotFolded) {
  Resolved resolved[2];
  for (const bool given : {false, true}) {
    ResolveOptions options;
    if (given) options.input_shapes = {{"s", {4, 2, 3}}};
    Result<Resolved> found =
        Resolve(WithSequenceMap(given ? "sequence(f32[?,?,?])" : "sequence(f32[4,2,3])"), Rules(), options);
    ASSERT_TRUE(found.ok()) << found.status().message();
    resolved[given ? 1 : 0] = *std::move(found);
  }
  const auto ops = [](const Resolved& r) {
    return std::get<GraphRef>(*r.graph.ops[0].attributes->Find("body"))->ops.size();
  };
  EXPECT_EQ(ops(resolved[0]), 1u);  // Shape is a constant
  EXPECT_EQ(ops(resolved[1]), 2u);
}

TEST(ControlTest, LoopSizesFollowTheTripCount) {
  const auto trips = [](int64_t v) { return std::make_shared<Literal>(Literal::Scalar(v)); };
  for (const auto& [count, grown] : std::vector<std::pair<int64_t, int64_t>>{{1, 5}, {2, 9}, {10, 41}}) {
    const Result<Resolved> resolved = Resolve(WithLoop(trips(count)), Rules(), {});
    EXPECT_THAT(Show(resolved), HasSubstr(StrCat("h f32[4]\ngrown f32[", grown, "]\nall f32[", count, ",4]\n")));
    ASSERT_EQ(resolved->warnings.size(), 1u);
  }
  const Result<Resolved> unknown = Resolve(WithLoop(nullptr), Rules(), {});
  ASSERT_TRUE(unknown.ok()) << unknown.status().message();
  EXPECT_THAT(unknown->warnings[0], HasSubstr("number of trips is not known"));
  EXPECT_THAT(unknown->warnings[0], HasSubstr("(give input \"m\" with --inputs)"));
  const Result<Resolved> stated = Resolve(WithLoop(nullptr, "f32[12,4]"), Rules(), {});
  EXPECT_THAT(Show(stated), HasSubstr("grown f32[49]\nall f32[12,4]\n"));
  ASSERT_TRUE(stated.ok());
  EXPECT_THAT(stated->warnings, testing::ElementsAre(HasSubstr("not known: 12, as its results are stated")));
  // Where the number of trips is known, what is stated is only compared.
  const Result<Resolved> known = Resolve(WithLoop(trips(10), "f32[12,4]"), Rules(), {});
  EXPECT_THAT(Show(known), HasSubstr("all f32[10,4]\n"));
  ASSERT_TRUE(known.ok());
  EXPECT_THAT(known->warnings[1], HasSubstr("\"all\" is stated as f32[12,4], and is f32[10,4]"));
}

// k = 0; while k < limit: k = k + step; scan k, h; `limit` the number of rows of x, or an input.
Graph WithWhile(bool known, int64_t step) {
  GraphBuilder body("body");
  TensorType unknown;
  unknown.has_rank = false;
  body.AddInput("i", T("i64[]"));
  body.AddInput("go", T("bool[]"));
  for (std::string_view name : {"k", "h", "limit"}) body.AddInput(name, unknown);
  AddInts(body, "step", {step}, true);
  body.AddOp("Add", "add", {"k", "step"}, {"k2"});
  body.AddOp("Less", "less", {"k2", "limit"}, {"more"});
  body.AddOp("Relu", "relu", {"h"}, {"h2"});
  body.AddOp("Identity", "scan", {"h2"}, {"each"});
  for (std::string_view output : {"more", "k2", "h2", "each"}) body.AddOutput(output);
  GraphBuilder builder;
  builder.AddInput("x", T("f32[12,4]"));
  AddInts(builder, "forever", {INT64_MAX}, true);
  AddInts(builder, "zero", {0}, true);
  if (known) {
    builder.AddOp("Shape", "shape", {"x"}, {"s"});
    builder.AddOp("Gather", "rows", {"s", "zero"}, {"limit"});
  } else {
    builder.AddInput("limits", T("i64[2,1]"));
    builder.AddOp("ReduceMax", "largest", {"limits"}, {"limit"});
  }
  builder.AddOp("Less", "first", {"zero", "limit"}, {"go"});
  Attributes attributes;
  attributes.Set("body", GraphRef(std::make_shared<Graph>(Build(std::move(body)))));
  const OpId id = builder.AddOp("Loop", "loop", {"forever", "go", "zero", "x"}, {"k", "h", "all"}, attributes);
  builder.graph().op(id).captures = {builder.Tensor("limit")};
  for (std::string_view output : {"k", "h", "all"}) builder.AddOutput(output);
  return Build(std::move(builder));
}

TEST(ControlTest, TripsOfAComputedConditionAreCounted) {
  for (const auto& [step, trips] : std::vector<std::pair<int64_t, int64_t>>{{1, 12}, {5, 3}, {100, 1}}) {
    const Result<Resolved> resolved = Resolve(WithWhile(true, step), Rules(), {});
    EXPECT_THAT(Show(resolved), HasSubstr(StrCat("all f32[", trips, ",12,4]\n")));
    ASSERT_TRUE(resolved.ok());
    EXPECT_THAT(resolved->warnings, testing::ElementsAre(HasSubstr(StrCat("(Loop): ", trips, " trips"))));
  }
  // One that never ends, and one that no input of a few numbers decides: sized for one trip, without advice.
  for (const Graph& graph : {WithWhile(true, -1), WithWhile(false, 1)}) {
    const Result<Resolved> resolved = Resolve(graph, Rules(), {});
    EXPECT_THAT(Show(resolved), HasSubstr("all f32[1,12,4]\n"));
    ASSERT_TRUE(resolved.ok());
    EXPECT_THAT(resolved->warnings[0], HasSubstr("number of trips is not known"));
    EXPECT_THAT(resolved->warnings[0], testing::Not(HasSubstr("--inputs")));
  }
}

TEST(ControlTest, ScanLength) {
  GraphBuilder body("body");
  TensorType unknown;
  unknown.has_rank = false;
  body.AddInput("state", unknown);
  body.AddInput("element", unknown);
  body.AddOp("Add", "add", {"state", "element"}, {"next"});
  body.AddOp("Identity", "copy", {"next"}, {"out"});
  body.AddOutput("next");
  body.AddOutput("out");
  GraphBuilder builder;
  builder.AddInput("s0", T("f32[4]"));
  builder.AddInput("xs", T("f32[4,9]"));
  Attributes attributes;
  attributes.Set("body", GraphRef(std::make_shared<Graph>(Build(std::move(body)))));
  attributes.Set("num_scan_inputs", int64_t{1});
  attributes.Set("scan_input_axes", std::vector<int64_t>{1});
  attributes.Set("scan_output_axes", std::vector<int64_t>{-1});
  builder.AddOp("Scan", "scan", {"s0", "xs"}, {"s", "ys"}, attributes);
  builder.AddOutput("s");
  builder.AddOutput("ys");
  const Result<Resolved> resolved = Resolve(Build(std::move(builder)), Rules(), {});
  EXPECT_THAT(Show(resolved), HasSubstr("s f32[4]\nys f32[4,9]\nScan\n"));
  // Nine steps of an Add and an Identity of four elements: 4 + 4 operations; 3 x 16 and 2 x 16 bytes.
  EXPECT_EQ(resolved->graph.ops[0].attributes->Float(kBodyFlops, 0), 9 * 8);
  EXPECT_EQ(resolved->graph.ops[0].attributes->Float(kBodyBytes, 0), 9 * 80);
}

}  // namespace
}  // namespace sbp
