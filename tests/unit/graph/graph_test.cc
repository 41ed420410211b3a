#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "graph/builder.h"

namespace sbp {
namespace {

using ::testing::HasSubstr;

TensorType Type(const char* text) { return *ParseTensorType(text); }

// y = relu(x w), written backwards so that building must sort.
GraphBuilder TwoOps() {
  GraphBuilder builder("two");
  builder.AddInput("x", Type("f32[?,4]"), {"batch", ""});
  builder.AddParameter("w", Type("f32[4,8]"));
  builder.AddOp("Relu", "", {"h"}, {"y"}, {}, "model/act");
  builder.AddOp("MatMul", "fc", {"x", "w"}, {"h"});
  builder.DescribeTensor("h", Type("f32[?,8]"));
  builder.DescribeTensor("ghost", Type("f32[1]"));
  builder.AddOutput("y");
  return builder;
}

TEST(GraphBuilder, SortsAndDumps) {
  const Result<Graph> graph = TwoOps().Build("two.json");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_TRUE(Verify(*graph, "").ok()) << Verify(*graph, "").message();
  EXPECT_EQ(Dump(*graph),
            "graph two\n"
            "input x f32[?,4] symbols=[batch, _]\n"
            "parameter w f32[4,8]\n"
            "tensor h f32[?,8]\n"
            "tensor y undefined[...]\n"
            "op fc MatMul(x, w) -> (h)\n"
            "op Relu_0 Relu(h) -> (y) scope=model/act\n"
            "inputs (x)\n"
            "outputs (y)\n");
}

TEST(GraphBuilder, KeepsGivenNamesAndMakesOthers) {
  GraphBuilder builder;
  builder.AddInput("x", Type("f32[]"));
  for (const char* name : {"", "a", "a", "", "Relu_0", "a_0"}) builder.AddOp("Relu", name, {"x"}, {""});
  const Graph graph = *builder.Build("");
  std::vector<std::string> names;
  for (const Op& op : graph.ops) names.push_back(op.name);
  EXPECT_EQ(names, (std::vector<std::string>{"Relu_1", "a", "a_1", "Relu_2", "Relu_0", "a_0"}));
}

TEST(GraphBuilder, ReportsProblems) {
  GraphBuilder builder;
  builder.AddInput("hidden", Type("f32[4]"));
  builder.AddInput("hidden", Type("f32[4]"));
  builder.AddOp("Relu", "r", {"hiden"}, {"hidden"});
  const Status status = builder.Build("m.onnx").status();
  EXPECT_EQ(status.code(), Code::kBadInput);
  EXPECT_EQ(status.message(),
            "m.onnx: tensor \"hidden\" is defined twice (again by an input)\n"
            "  tensor \"hidden\" is defined twice (again by op \"r\")\n"
            "  op \"r\" reads \"hiden\", which nothing defines (did you mean \"hidden\"?)");
}

TEST(GraphBuilder, ReportsCycles) {
  GraphBuilder builder;
  builder.AddInput("x", Type("f32[4]"));
  builder.AddOp("Add", "after", {"c", "x"}, {"d"});
  builder.AddOp("Add", "a", {"x", "c"}, {"b"});
  builder.AddOp("Relu", "b", {"b"}, {"c"});
  EXPECT_EQ(builder.Build("m").status().message(), "m: the ops form a cycle: \"a\" -> \"b\" -> \"a\"");
}

TEST(GraphBuilder, ManyProblemsFitOneScreen) {
  GraphBuilder builder;
  for (int i = 0; i < 1000; ++i) builder.AddOp("Relu", "", {StrCat("absent", i)}, {StrCat("y", i)});
  const std::string message = builder.Build("m").status().message();
  EXPECT_LT(Split(message, '\n').size(), 12u);
  EXPECT_THAT(message, HasSubstr("and more"));
}

TEST(Graph, UsesAndNames) {
  GraphBuilder builder;
  builder.AddInput("x", Type("f32[4]"));
  const OpId add = builder.AddOp("Add", "add", {"x", "", "x"}, {"y"});
  builder.graph().op(add).captures.push_back(builder.Tensor("x"));
  const Graph graph = *builder.Build("");
  const UseTable uses = BuildUses(graph);
  const NameIndex names(graph);
  const auto [begin, end] = uses.of(names.tensor("x"));
  ASSERT_EQ(end - begin, 3);
  EXPECT_EQ(begin[0].operand, 0u);
  EXPECT_EQ(begin[1].operand, 2u);
  EXPECT_EQ(begin[2].operand, 3u);
  EXPECT_EQ(graph.OperandsOf(graph.op(add)).size(), 4u);
  EXPECT_EQ(names.op("add"), add);
  EXPECT_FALSE(names.op("x").valid());
  EXPECT_FALSE(names.tensor("nothing").valid());
}

// Random DAGs with shuffled ops: sorted orders are legal and, among legal ones, the first by the file's numbers.
TEST(SortTopologically, EqualsSlowReference) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const size_t count = 1 + random() % 12;
    std::vector<size_t> place(count);
    for (size_t i = 0; i < count; ++i) place[i] = i;
    std::shuffle(place.begin(), place.end(), random);
    // Op place[i] may read what ops place[0..i) write.
    std::vector<std::vector<size_t>> reads(count);
    for (size_t i = 1; i < count; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (random() % 3 == 0) reads[place[i]].push_back(place[j]);
      }
    }
    GraphBuilder builder;
    for (size_t i = 0; i < count; ++i) {
      std::vector<std::string> inputs;
      for (size_t j : reads[i]) inputs.push_back("t" + std::to_string(j));
      builder.AddOp("F", std::to_string(i), inputs, {"t" + std::to_string(i)});
    }
    const Graph graph = *builder.Build("");
    ASSERT_TRUE(Verify(graph, "").ok());
    std::vector<bool> done(count, false);
    for (const Op& op : graph.ops) {
      size_t expected = 0;  // the first op that is not done and reads only what is done
      while (done[expected] ||
             !std::all_of(reads[expected].begin(), reads[expected].end(), [&](size_t j) { return done[j]; })) {
        ++expected;
      }
      ASSERT_EQ(op.name, std::to_string(expected));
      done[expected] = true;
    }
  }
}

TEST(Verify, FindsEachFault) {
  const struct {
    const char* fault;
    void (*damage)(Graph&);
    const char* message;
  } kRows[] = {
      {"name", [](Graph& g) { g.tensors[1].name = "x"; }, "two tensors are called \"x\""},
      {"op name", [](Graph& g) { g.ops[1].name = "fc"; }, "two ops are called \"fc\""},
      {"order", [](Graph& g) { std::swap(g.ops[0], g.ops[1]); }, "does not have it as result"},
      {"read", [](Graph& g) { g.ops[0].inputs[0] = TensorId(3); }, "it reads \"y\" before op \"Relu_0\" writes it"},
      {"range", [](Graph& g) { g.ops[0].inputs[0] = TensorId(99); }, "reads a tensor that does not exist"},
      {"two producers", [](Graph& g) { g.ops[1].outputs.push_back(TensorId(2)); }, "is written elsewhere too"},
      {"role", [](Graph& g) { g.tensors[2].role = TensorRole::kInput; }, "an input or parameter that an op writes"},
      {"no producer", [](Graph& g) { g.tensors[2].producer = OpId(); }, "no op writes it"},
      {"size",
       [](Graph& g) {
         g.tensors[1].type.shape = {1LL << 40, 1LL << 40};
       },
       "does not fit 63 bits"},
      {"negative", [](Graph& g) { g.tensors[1].type.shape = {-2}; }, "a dimension of size -2"},
      {"rank", [](Graph& g) { g.tensors[1].type.shape.assign(65, 1); }, "65 dimensions"},
      {"symbols", [](Graph& g) { g.tensors[0].symbols = {"a"}; }, "1 symbols for 2 dimensions"},
      {"inputs", [](Graph& g) { g.inputs.clear(); }, "is an input but not listed"},
      {"inputs twice", [](Graph& g) { g.inputs.push_back(g.inputs[0]); }, "is listed twice"},
      {"outputs", [](Graph& g) { g.outputs.push_back(TensorId(4)); }, "an output that does not exist"},
      {"type", [](Graph& g) { g.ops[0].type = 9; }, "its type is no known one"},
      {"scope", [](Graph& g) { g.ops[0].scope = 9; }, "its scope is no known one"},
      {"attributes", [](Graph& g) { g.ops[0].attributes = nullptr; }, "no attributes record"},
      {"pin", [](Graph& g) { g.ops[0].signature_pin.resize(2); }, "has 2 layouts for 2 operands and 1 results"},
      {"tie",
       [](Graph& g) {
         g.ties.push_back({TensorId(0), TensorId(7)});
       },
       "a tie of a tensor that does not exist"},
  };
  for (const auto& row : kRows) {
    Graph graph = *TwoOps().Build("");
    ASSERT_TRUE(Verify(graph, "f").ok());
    row.damage(graph);
    EXPECT_THAT(Verify(graph, "f").message(), HasSubstr(row.message)) << row.fault;
    EXPECT_THAT(Verify(graph, "f").message(), ::testing::StartsWith("f: ")) << row.fault;
  }
}

}  // namespace
}  // namespace sbp
