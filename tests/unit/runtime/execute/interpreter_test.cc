// Whole graphs on one device: control flow, sequences, optionals, sizes that data decide.
#include "runtime/execute/interpreter.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "unit/runtime/graphs.h"

namespace sbp {
namespace {

Value F32(Shape shape, const std::vector<double>& values) { return TestTensor(DType::kF32, std::move(shape), values); }
Value I64(Shape shape, const std::vector<double>& values) { return TestTensor(DType::kI64, std::move(shape), values); }
Value Bool(bool value) { return TestTensor(DType::kBool, {}, {value ? 1.0 : 0.0}); }

// Graphs are taken as read: resolving would do away with some of the ops.
std::string RunFields(const std::string& fields, std::vector<Value> inputs) {
  return RunText(ReadTestGraph(fields), std::move(inputs));
}

TEST(Interpreter, IfTakesOneBranchAndItsCaptures) {
  const std::string fields = R"(
      "inputs": [{"name": "c", "type": "bool[]"}, {"name": "x", "type": "f32[2]"}, {"name": "z", "type": "f32[2]"}],
      "ops": [{"name": "choose", "type": "If", "inputs": ["c"], "outputs": ["y"], "captures": ["z", "x", "z"],
        "attributes": {
          "else_branch": {"graph": {"inputs": [{"name": "z", "type": "f32[2]"}],
            "ops": [{"name": "n", "type": "Neg", "inputs": ["z"], "outputs": ["r"]}], "outputs": ["r"]}},
          "then_branch": {"graph": {"inputs": [{"name": "x", "type": "f32[2]"}, {"name": "z", "type": "f32[2]"}],
            "ops": [{"name": "s", "type": "Sub", "inputs": ["x", "z"], "outputs": ["r"]}], "outputs": ["r"]}}}}],
      "outputs": ["y"])";
  EXPECT_EQ(RunFields(fields, {Bool(true), F32({2}, {5, 7}), F32({2}, {1, 2})}), "f32[2] 4 5");
  EXPECT_EQ(RunFields(fields, {Bool(false), F32({2}, {5, 7}), F32({2}, {1, 2})}), "f32[2] -1 -2");
  EXPECT_EQ(RunFields(fields, {F32({2}, {1, 1}), F32({2}, {5, 7}), F32({2}, {1, 2})}),
            "op \"choose\" (If): the condition is no single integer");
}

// The branch reads its axes from a capture, and only what they are says how the op is expanded.
TEST(Interpreter, ValuesThatABranchCapturesAreKnownWhenItRuns) {
  const std::string fields = R"(
      "inputs": [{"name": "c", "type": "bool[]"}, {"name": "x", "type": "f32[2]"}, {"name": "axes", "type": "i64[1]"}],
      "ops": [{"name": "choose", "type": "If", "inputs": ["c"], "outputs": ["y"], "captures": ["x", "x", "axes"],
        "attributes": {
          "else_branch": {"graph": {"inputs": [{"name": "x", "type": "f32[2]"}],
            "ops": [{"name": "n", "type": "Neg", "inputs": ["x"], "outputs": ["r"]}], "outputs": ["r"]}},
          "then_branch": {"graph": {"inputs": [{"name": "x", "type": "f32[2]"}, {"name": "axes", "type": "i64[1]"}],
            "tensors": [{"name": "r", "type": "f32[1]"}],
            "ops": [{"name": "m", "type": "ReduceMean", "inputs": ["x", "axes"], "outputs": ["r"]}],
            "outputs": ["r"]}}}}],
      "outputs": ["y"])";
  EXPECT_EQ(RunFields(fields, {Bool(true), F32({2}, {5, 7}), I64({1}, {0})}), "f32[1] 6");
}

// s' = s + step while s' < limit; each round also writes its number.
const std::string kLoop = R"(
    "inputs": [{"name": "trips", "type": "i64[]"}, {"name": "go", "type": "bool[]"}, {"name": "s0", "type": "f32[]"},
               {"name": "step", "type": "f32[]"}, {"name": "limit", "type": "f32[]"}],
    "ops": [{"name": "loop", "type": "Loop", "inputs": ["trips", "go", "s0"], "outputs": ["s", "rounds"],
      "captures": ["step", "limit"], "attributes": {"body": {"graph": {
        "inputs": [{"name": "i", "type": "i64[]"}, {"name": "c", "type": "bool[]"}, {"name": "a", "type": "f32[]"},
                   {"name": "step", "type": "f32[]"}, {"name": "limit", "type": "f32[]"}],
        "tensors": [{"name": "n", "type": "i64[]"}],
        "ops": [{"name": "add", "type": "Add", "inputs": ["a", "step"], "outputs": ["b"]},
                {"name": "less", "type": "Less", "inputs": ["b", "limit"], "outputs": ["on"]},
                {"name": "copy", "type": "Identity", "inputs": ["i"], "outputs": ["n"]}],
        "outputs": ["on", "b", "n"]}}}}],
    "outputs": ["s", "rounds"])";

std::string Loop(double trips, bool go, double limit) {
  return RunFields(kLoop, {I64({}, {trips}), Bool(go), F32({}, {1}), F32({}, {2}), F32({}, {limit})});
}

TEST(Interpreter, LoopCarriesStateAndStacksRounds) {
  EXPECT_EQ(Loop(3, true, 100), "f32[] 7; i64[3] 0 1 2");
  EXPECT_EQ(Loop(100, true, 6), "f32[] 7; i64[3] 0 1 2");  // ended by its condition, after the round that met it
  EXPECT_EQ(Loop(0, true, 100), "f32[] 1; i64[0]");
  EXPECT_EQ(Loop(-3, true, 100), "f32[] 1; i64[0]");
  EXPECT_EQ(Loop(3, false, 100), "f32[] 1; i64[0]");
}

TEST(Interpreter, RoundsDrawOtherNumbers) {
  const auto loop = [](const std::string& name) {
    return StrCat(R"({"name": ")", name, R"(", "type": "Loop", "inputs": ["trips", "go"], "outputs": [")", name,
                  R"(_drawn"], "attributes": {"body": {"graph": {
        "inputs": [{"name": "i", "type": "i64[]"}, {"name": "c", "type": "bool[]"}],
        "tensors": [{"name": "r", "type": "f32[1]"}, {"name": "go_on", "type": "bool[]"}],
        "ops": [{"name": "draw", "type": "RandomUniform", "outputs": ["r"], "attributes": {"shape": [1]}},
                {"name": "on", "type": "Identity", "inputs": ["c"], "outputs": ["go_on"]}],
        "outputs": ["go_on", "r"]}}}})");
  };
  const std::string fields =
      StrCat(R"("inputs": [{"name": "trips", "type": "i64[]"}, {"name": "go", "type": "bool[]"}], "ops": [)", loop("a"),
             ", ", loop("b"), R"(], "outputs": ["a_drawn", "b_drawn"])");
  const std::string drawn = RunFields(fields, {I64({}, {3}), Bool(true)});
  EXPECT_EQ(RunFields(fields, {I64({}, {3}), Bool(true)}), drawn);
  std::set<std::string> numbers;
  for (const std::string_view part : Split(drawn, ' ')) numbers.insert(std::string(part));
  EXPECT_EQ(numbers.size(), 7u) << drawn;  // the type, and three numbers of each loop
}

// Runs sums along a scanned axis: state + slice, which each round also writes.
std::string Scan(const std::string& attributes, Value x) {
  return RunFields(StrCat(R"("inputs": [{"name": "s0", "type": "f32[2]"}, {"name": "x", "type": "f32[2,3]"}],
      "ops": [{"name": "scan", "type": "Scan", "inputs": ["s0", "x"], "outputs": ["s", "sums"], "attributes": {)",
                          attributes, R"("num_scan_inputs": 1, "body": {"graph": {
        "inputs": [{"name": "a", "type": "f32[2]"}, {"name": "b", "type": "f32[2]"}],
        "tensors": [{"name": "c", "type": "f32[2]"}, {"name": "d", "type": "f32[2]"}],
        "ops": [{"name": "add", "type": "Add", "inputs": ["a", "b"], "outputs": ["c"]},
                {"name": "copy", "type": "Identity", "inputs": ["c"], "outputs": ["d"]}], "outputs": ["c", "d"]}}}}],
      "outputs": ["s", "sums"])"),
                   {F32({2}, {0, 0}), std::move(x)});
}

TEST(Interpreter, ScanWalksItsAxes) {
  const Value rows = F32({3, 2}, {1, 2, 10, 20, 100, 200});
  const Value columns = F32({2, 3}, {1, 10, 100, 2, 20, 200});
  EXPECT_EQ(Scan("", rows), "f32[2] 111 222; f32[3,2] 1 2 11 22 111 222");
  EXPECT_EQ(Scan(R"("scan_input_axes": [1],)", columns), "f32[2] 111 222; f32[3,2] 1 2 11 22 111 222");
  EXPECT_EQ(Scan(R"("scan_input_axes": [-1], "scan_output_axes": [1],)", columns),
            "f32[2] 111 222; f32[2,3] 1 11 111 2 22 222");
  EXPECT_EQ(Scan(R"("scan_input_directions": [1],)", rows), "f32[2] 111 222; f32[3,2] 100 200 110 220 111 222");
  EXPECT_EQ(Scan(R"("scan_output_directions": [1],)", rows), "f32[2] 111 222; f32[3,2] 111 222 11 22 1 2");
  EXPECT_EQ(Scan(R"("scan_output_axes": [-1],)", rows), "f32[2] 111 222; f32[2,3] 1 11 111 2 22 222");
  EXPECT_EQ(Scan("", F32({0, 2}, {})), "f32[2] 0 0; f32[0,2]");
  EXPECT_EQ(Scan(R"("scan_input_axes": [2],)", rows), "op \"scan\" (Scan): a scan axis is out of range");
}

// One op on sequences: its operands come as they are.
std::string Special(const std::string& op, std::vector<Value> operands, const std::string& attributes = "") {
  std::string inputs, names;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    inputs += StrCat(comma, "{\"name\": \"x", i, "\", \"type\": \"f32[1]\"}");
    names += StrCat(comma, "\"x", i, "\"");
  }
  return RunFields(
      StrCat("\"inputs\": [", inputs, "], \"ops\": [{\"name\": \"o\", \"type\": \"", op, "\", \"inputs\": [", names,
             "], \"outputs\": [\"y\"], \"attributes\": {", attributes, "}}], \"outputs\": [\"y\"]"),
      std::move(operands));
}

struct SpecialRow {
  const char* op;
  std::vector<Value> operands;
  const char* attributes;
  const char* expected;
};

TEST(Interpreter, Sequences) {
  const Value a = F32({1}, {1}), b = F32({2}, {2, 3});
  const Value s = TestSequence({a, b}), empty = TestSequence({});
  const Value x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  const SpecialRow rows[] = {
      {"SequenceConstruct", {a, b}, "", "[f32[1] 1, f32[2] 2 3]"},
      {"SequenceEmpty", {}, "", "[]"},
      {"SequenceLength", {s}, "", "i64[] 2"},
      {"SequenceInsert", {s, b}, "", "[f32[1] 1, f32[2] 2 3, f32[2] 2 3]"},
      {"SequenceInsert", {s, b, I64({}, {0})}, "", "[f32[2] 2 3, f32[1] 1, f32[2] 2 3]"},
      {"SequenceInsert", {s, b, I64({}, {-1})}, "", "[f32[1] 1, f32[2] 2 3, f32[2] 2 3]"},
      {"SequenceInsert", {s, b, I64({}, {3})}, "", "op \"o\" (SequenceInsert): position 3 of a sequence of 2"},
      {"SequenceErase", {s}, "", "[f32[1] 1]"},
      {"SequenceErase", {s, I64({}, {-2})}, "", "[f32[2] 2 3]"},
      {"SequenceErase", {s, I64({}, {-3})}, "", "op \"o\" (SequenceErase): position -3 of a sequence of 2"},
      {"SequenceErase", {empty}, "", "op \"o\" (SequenceErase): the sequence is empty"},
      {"SequenceAt", {s, I64({}, {1})}, "", "f32[2] 2 3"},
      {"SequenceAt", {s, I64({}, {-2})}, "", "f32[1] 1"},
      {"SequenceAt", {s, I64({}, {2})}, "", "op \"o\" (SequenceAt): position 2 of a sequence of 2"},
      {"SequenceAt", {empty, I64({}, {0})}, "", "op \"o\" (SequenceAt): the sequence is empty"},
      {"SequenceAt", {a, I64({}, {0})}, "", "op \"o\" (SequenceAt): its first operand is no sequence"},
      {"SplitToSequence", {x}, "", "[f32[1,3] 1 2 3, f32[1,3] 4 5 6]"},
      {"SplitToSequence", {x}, R"("keepdims": 0)", "[f32[3] 1 2 3, f32[3] 4 5 6]"},
      {"SplitToSequence", {x, I64({}, {2})}, R"("axis": -1)", "[f32[2,2] 1 2 4 5, f32[2,1] 3 6]"},
      {"SplitToSequence", {x, I64({2}, {1, 2})}, R"("axis": 1)", "[f32[2,1] 1 4, f32[2,2] 2 3 5 6]"},
      {"SplitToSequence", {x, I64({}, {0})}, "", "op \"o\" (SplitToSequence): parts of 0 elements"},
      {"SplitToSequence",
       {x, I64({1}, {1})},
       "",
       "op \"o\" (SplitToSequence): parts of 1 elements in all for a dimension of 2"},
      {"SplitToSequence", {x}, R"("axis": 2)", "op \"o\" (SplitToSequence): axis 2 of a tensor of rank 2"},
      {"ConcatFromSequence", {s}, R"("axis": 0)", "f32[3] 1 2 3"},
      {"ConcatFromSequence", {TestSequence({b, b})}, R"("axis": -1, "new_axis": 1)", "f32[2,2] 2 2 3 3"},
      {"ConcatFromSequence",
       {s},
       R"("axis": 0, "new_axis": 1)",
       "op \"o\" (ConcatFromSequence): tensors of different shapes or types cannot be joined: f32[1,1] and f32[1,2]"},
      {"ConcatFromSequence", {empty}, R"("axis": 0)", "op \"o\" (ConcatFromSequence): nothing to join"},
  };
  for (const SpecialRow& row : rows) {
    EXPECT_EQ(Special(row.op, row.operands, row.attributes), row.expected) << row.op << " " << row.attributes;
  }
}

TEST(Interpreter, SequenceMapRunsItsBodyOnEachEntry) {
  const std::string body = R"("body": {"graph": {
      "inputs": [{"name": "e", "type": "f32[1]"}, {"name": "f", "type": "f32[1]"}],
      "ops": [{"name": "s", "type": "Sub", "inputs": ["e", "f"], "outputs": ["r"]}], "outputs": ["r"]}})";
  const Value s = TestSequence({F32({1}, {1}), F32({1}, {2})}), t = TestSequence({F32({1}, {10}), F32({1}, {20})});
  EXPECT_EQ(Special("SequenceMap", {s, F32({1}, {1})}, body), "[f32[1] 0, f32[1] 1]");
  EXPECT_EQ(Special("SequenceMap", {s, t}, body), "[f32[1] -9, f32[1] -18]");
  EXPECT_EQ(Special("SequenceMap", {s, TestSequence({F32({1}, {1})})}, body),
            "op \"o\" (SequenceMap): sequences of different lengths");
}

TEST(Interpreter, Optionals) {
  Value none;
  none.none = true;
  const Value a = F32({1}, {4});
  EXPECT_EQ(Special("Optional", {a}), "f32[1] 4");
  EXPECT_EQ(Special("Optional", {}), "none");
  EXPECT_EQ(Special("OptionalHasElement", {a}), "bool[] 1");
  EXPECT_EQ(Special("OptionalHasElement", {none}), "bool[] 0");
  EXPECT_EQ(Special("OptionalHasElement", {}), "bool[] 0");
  EXPECT_EQ(Special("OptionalGetElement", {a}), "f32[1] 4");
  EXPECT_EQ(Special("OptionalGetElement", {none}), "op \"o\" (OptionalGetElement): the optional holds nothing");
  EXPECT_EQ(Special("Neg", {none}), "op \"o\" (Neg): operand 1 is no tensor");
}

TEST(Interpreter, ShowsEveryValueOnce) {
  const Graph graph = MakeTestGraph(R"("inputs": [{"name": "x", "type": "f32[1]"}],
      "ops": [{"name": "a", "type": "Neg", "inputs": ["x"], "outputs": ["u"]},
              {"name": "b", "type": "Abs", "inputs": ["u"], "outputs": ["v"]}], "outputs": ["u", "v"])");
  LocalCompiler compiler(TestRules(), Mesh());
  InterpreterHooks hooks;
  std::vector<std::string> seen;
  hooks.seen = [&](TensorId id, const Value& value) {
    seen.push_back(StrCat(graph.tensor(id).name, " ", ToText(value)));
    return OkStatus();
  };
  const auto outputs = Interpreter(compiler, hooks).Run(graph, {F32({1}, {3})});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ(Join(seen, "; "), "x f32[1] 3; u f32[1] -3; v f32[1] 3");
  EXPECT_EQ(ToText((*outputs)[0]), "f32[1] -3");
  EXPECT_EQ(ToText((*outputs)[1]), "f32[1] 3");
}

}  // namespace
}  // namespace sbp
