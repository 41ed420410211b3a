// Programs run on every device of a mesh give the parts of what the op gives as a whole.
#include "runtime/execute/op_runner.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "runtime/data/parts.h"
#include "runtime/run/compare.h"
#include "unit/runtime/graphs.h"
#include "unit/runtime/one_op.h"

namespace sbp {
namespace {

struct Case {
  OneOp op;
  std::vector<Value> operands;  // whole; where empty: 1, -2, 3, -4, ...
};

// Signs vary, so that wrong neutral elements and halves show.
Value Waves(const std::string& text) {
  const TensorType type = ParseTensorType(text).value();
  std::vector<double> values;
  for (int64_t i = 0; i < type.num_elements(); ++i)
    values.push_back(static_cast<double>((i * 7 % 11) * (i % 2 * 2 - 1)));
  return TestTensor(type.dtype, type.shape, values);
}

// One device's part of the result, or the error.
Result<Value> RunOn(const Graph& graph, LocalCompiler& compiler, const Signature& signature,
                    const std::vector<Value>& operands, int64_t device) {
  SBP_ASSIGN_OR_RETURN(const PreparedOp op, PrepareOp(graph, graph.ops[0], signature, 0, &compiler));
  const Mesh& mesh = compiler.mesh();
  const std::vector<int64_t> at = mesh.Coordinates(device);
  std::vector<Value> parts(operands.size());
  std::vector<TensorView> views;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].present()) {
      const TensorView& whole = operands[i].view;
      parts[i].view = PartView(whole.dtype, whole.shape, signature.inputs[i], mesh, at, nullptr);
      parts[i].memory = AllocateBytes(parts[i].view.bytes());
      parts[i].view.data = parts[i].memory.get();
      ChangeLocally(whole, NdSbp(mesh.num_axes()), signature.inputs[i], at, parts[i].view);
    }
    views.push_back(parts[i].view);
  }
  const TensorType& type = graph.tensor(graph.ops[0].outputs[0]).type;
  SBP_ASSIGN_OR_RETURN(Value result, MakeTensor(type.dtype, type.shape));
  std::vector<TensorView> results{result.view};
  SBP_RETURN_IF_ERROR(OpRunner(compiler, {at}).Run(op, views, results));
  result.view = results[0];
  return result;
}

// The difference between the parts of all devices, joined, and the whole op.
void CheckCase(const Case& c) {
  const std::string what = StrCat(c.op.type, " ", c.op.signature, " on ", c.op.mesh);
  const Graph graph = GraphOf(c.op);
  std::vector<Value> operands = c.operands;
  if (operands.empty()) {
    for (const std::string& type : c.op.operands) operands.push_back(type.empty() ? Value{} : Waves(type));
  }
  const auto run = [&](const std::string& mesh, const Signature& signature) -> Result<std::vector<Value>> {
    LocalCompiler compiler(TestRules(), mesh.empty() ? Mesh() : ParseMesh(mesh).value());
    std::vector<Value> parts;
    for (int64_t d = 0; d < compiler.mesh().num_devices(); ++d) {
      SBP_ASSIGN_OR_RETURN(Value part, RunOn(graph, compiler, signature, operands, d));
      parts.push_back(std::move(part));
    }
    return AssembleCopies(parts, signature.outputs[0], compiler.mesh());
  };
  Signature whole;
  whole.inputs.resize(operands.size());
  whole.outputs.resize(1);
  const auto expected = run("", whole);
  ASSERT_TRUE(expected.ok()) << what << ": " << expected.status().message();
  const int axes = ParseMesh(c.op.mesh).value().num_axes();
  const auto copies = run(c.op.mesh, ParseSignature(c.op.signature, axes).value());
  ASSERT_TRUE(copies.ok()) << what << ": " << copies.status().message();
  for (const Value& copy : *copies) {
    const auto difference = Compare(copy, expected->front());
    ASSERT_TRUE(difference.ok()) << what << ": " << difference.status().message();
    EXPECT_LT(difference->relative_error, 1e-6) << what << "\n"
                                                << ToText(copy) << "\nexpected " << ToText(expected->front());
  }
}

TEST(OpRunner, PartsMakeTheWhole) {
  const Case cases[] = {
      {{"Add", {"f32[3,4]", "f32[4]"}, "", "2", "S(1), S(0) -> S(1)"}, {}},
      {{"Add", {"f32[3,4]", "f32[4]"}, "", "2", "P(sum), P(sum) -> P(sum)"}, {}},
      {{"MatMul", {"f32[4,6]", "f32[6,8]"}, "", "4", "S(1), S(0) -> P(sum)"}, {}},
      {{"MatMul", {"f32[4,6]", "f32[6,8]"}, "", "2,2", "(S(0), S(1)), (B, S(0)) -> (S(0), P(sum))"}, {}},
      {{"Gemm", {"f32[4,6]", "f32[6,8]", "f32[8]"}, R"("alpha": 0.5)", "2", "S(0), B, B -> S(0)"}, {}},
      {{"Softmax", {"f32[5,6]"}, R"("axis": -1)", "3", "S(0) -> S(0)"}, {}},
      {{"LayerNormalization", {"f32[5,6]", "f32[6]", "f32[6]"}, "", "2,2", "(S(0), B), (B, B), (B, B) -> (S(0), B)"},
       {}},
      {{"ReduceMax", {"f32[5,6]"}, R"("keepdims": 0)", "2", "S(0) -> P(max)"}, {}},
      {{"Gelu", {"f32[7]"}, "", "3", "S(0) -> S(0)"}, {}},
      {{"Transpose", {"f32[3,4]"}, R"("perm": [1, 0])", "2", "S(0) -> S(1)"}, {}},
      {{"Gather", {"f32[5,4]", "i64[3]"}, "", "2", "S(1), B -> S(1)"},
       {Waves("f32[5,4]"), TestTensor(DType::kI64, {3}, {4, 0, -1})}},
      {{"Gather", {"f32[5,4]", "i64[3]"}, "", "2", "S(0), B -> P(sum)"},
       {Waves("f32[5,4]"), TestTensor(DType::kI64, {3}, {4, 0, -1})}},
  };
  for (const Case& c : cases) CheckCase(c);
}

TEST(OpRunner, AnIndexOutOfRangeNamesTheOp) {
  const OneOp op = {"Gather", {"f32[5,4]", "i64[1]"}, "", "2", "S(0), B -> P(sum)"};
  LocalCompiler compiler(TestRules(), ParseMesh(op.mesh).value());
  for (const double index : {5.0, -6.0}) {
    const auto result = RunOn(GraphOf(op), compiler, ParseSignature(op.signature, 1).value(),
                              {Waves("f32[5,4]"), TestTensor(DType::kI64, {1}, {index})}, 0);
    ASSERT_FALSE(result.ok()) << index;
    EXPECT_EQ(result.status().code(), Code::kRunFailed);
    EXPECT_EQ(result.status().message().substr(0, 17), "op \"o\" (Gather): ") << result.status().message();
  }
}

// Sizes that data decide: rows of x at the places where m is not zero, summed.
const char* const kChosenRows = R"(
    "inputs": [{"name": "m", "type": "f32[4]"}, {"name": "x", "type": "f32[4,2]"}],
    "parameters": [{"name": "minus", "type": "i64[1]", "literal": {"ints": [-1]}}],
    "ops": [{"name": "where", "type": "NonZero", "inputs": ["m"], "outputs": ["at"]},
            {"name": "flat", "type": "Reshape", "inputs": ["at", "minus"], "outputs": ["rows"]},
            {"name": "take", "type": "Gather", "inputs": ["x", "rows"], "outputs": ["taken"]},
            {"name": "soft", "type": "Softmax", "inputs": ["taken"], "outputs": ["soft"], "attributes": {"axis": 0}}],
    "outputs": ["taken", "soft"])";

TEST(OpRunner, SizesThatDataDecide) {
  const Graph graph = MakeTestGraph(kChosenRows);
  const Value x = TestTensor(DType::kF32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto run = [&](const std::vector<double>& m) { return RunText(graph, {TestTensor(DType::kF32, {4}, m), x}); };
  EXPECT_EQ(run({0, 1, 0, 0}), "f32[1,2] 3 4; f32[1,2] 1 1");
  EXPECT_EQ(run({1, 0, 0, 2}).substr(0, 16), "f32[2,2] 1 2 7 8");
  EXPECT_EQ(run({0, 0, 0, 0}), "f32[0,2]; f32[0,2]");
  EXPECT_EQ(run({1, 1, 1, 1}).substr(0, 24), "f32[4,2] 1 2 3 4 5 6 7 8");
}

}  // namespace
}  // namespace sbp
