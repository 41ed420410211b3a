#include "grad/grad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "decompose/decompose.h"
#include "grad/differentiate.h"
#include "grad/drop.h"
#include "grad/share.h"
#include "grad/trainable.h"
#include "grad/unroll.h"
#include "graph/builder.h"
#include "graph/kept.h"
#include "graph/literal.h"
#include "graph/producers.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;

const RuleSet& Rules() {
  static const RuleSet* rules = new RuleSet(RuleSet::Builtin().value());
  return *rules;
}

TensorType TypeOf(const std::string& text) { return ParseTensorType(text).value(); }

// y = x w, z = Relu(y) + y: y is read twice.
Graph Small(const std::string& dtype) {
  GraphBuilder builder("small");
  builder.AddInput("x", TypeOf(dtype + "[4,8]"));
  builder.AddParameter("w", TypeOf(dtype + "[8,3]"));
  for (const char* name : {"y", "r", "z"}) builder.DescribeTensor(name, TypeOf(dtype + "[4,3]"));
  builder.AddOp("MatMul", "product", {"x", "w"}, {"y"}, {}, "net/first");
  builder.AddOp("Relu", "act", {"y"}, {"r"}, {}, "net/second");
  builder.AddOp("Add", "sum", {"r", "y"}, {"z"}, {}, "net/second");
  builder.AddOutput("z");
  return builder.Build("small").value();
}

// "NAME = TYPE" of each op whose type is one of those asked for.
std::vector<std::string> Ops(const Graph& graph, const std::vector<std::string>& types) {
  std::vector<std::string> ops;
  for (const Op& op : graph.ops) {
    if (std::find(types.begin(), types.end(), graph.type_of(op)) == types.end()) continue;
    const auto made = std::ranges::find_if(op.outputs, [](TensorId id) { return id.valid(); });
    ops.push_back(StrCat(graph.tensor(*made).name, " = ", graph.type_of(op)));
  }
  return ops;
}

std::vector<std::string> Outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const TensorId id : graph.outputs) names.push_back(graph.tensor(id).name);
  return names;
}

TEST(Grad, NamesAndScopes) {
  const GradGraph made = MakeGradGraph(Small("f32"), Rules(), {.loss = "sum:z", .wrt_inputs = {"x"}}).value();
  EXPECT_THAT(Outputs(made.graph), ElementsAre("loss", "grad/x", "grad/w"));
  EXPECT_THAT(Ops(made.graph, {"MatMul", "Where"}),
              ElementsAre("y = MatMul", "backward/act/d.x = Where", "grad/x = MatMul", "grad/w = MatMul"));
  for (const Op& op : made.graph.ops) {
    if (made.graph.type_of(op) == "Where") {
      EXPECT_EQ(made.graph.scope_of(op), "backward/net/second");
    }
  }
  const std::vector<KeptTensor> kept = FindKept(made.graph);
  ASSERT_EQ(kept.size(), 1u);  // of Relu the result, not what goes in
  EXPECT_EQ(made.graph.tensor(kept[0].tensor).name, "r");
}

TEST(Grad, TermsAreAddedIn32Bits) {
  const GradGraph wide = MakeGradGraph(Small("f32"), Rules(), {.loss = "cotangents"}).value();
  EXPECT_THAT(Ops(wide.graph, {"Cast"}), ElementsAre());
  const GradGraph narrow = MakeGradGraph(Small("bf16"), Rules(), {.loss = "cotangents"}).value();
  EXPECT_THAT(Ops(narrow.graph, {"Cast"}),
              ElementsAre("backward/y/+2/wide = Cast", "backward/y/+2/wide_2 = Cast", "d/y = Cast"));
  EXPECT_EQ(narrow.graph.tensor(NameIndex(narrow.graph).tensor("grad/w")).type, TypeOf("bf16[8,3]"));
}

TEST(Grad, TheSameBytesTwice) {
  const GradRequest request{.loss = "mean:z"};
  EXPECT_EQ(Dump(MakeGradGraph(Small("f32"), Rules(), request)->graph),
            Dump(MakeGradGraph(Small("f32"), Rules(), request)->graph));
}

// A gradient is an ordinary graph: it is differentiated again, and names stay apart.
TEST(Grad, OfAGradient) {
  const GradGraph once = MakeGradGraph(Small("f32"), Rules(), {.loss = "mse:z"}).value();
  const Result<GradGraph> twice = MakeGradGraph(once.graph, Rules(), {.loss = "cotangents:grad/w", .wrt = {"w"}});
  ASSERT_TRUE(twice.ok()) << twice.status().message();
  EXPECT_THAT(Outputs(twice->graph), ElementsAre("loss", "grad/w", "grad/w_2"));
}

TEST(Grad, EqualOpsShareOneDerivation) {
  GraphBuilder builder("deep");
  builder.AddInput("t0", TypeOf("f32[4,8]"));
  builder.AddParameter("w", TypeOf("f32[8,8]"));
  constexpr int kLayers = 2000;
  for (int i = 0; i < kLayers; ++i) {
    const std::string in = StrCat("t", 2 * i), mid = StrCat("t", 2 * i + 1), out = StrCat("t", 2 * i + 2);
    builder.DescribeTensor(mid, TypeOf("f32[4,8]"));
    builder.DescribeTensor(out, TypeOf("f32[4,8]"));
    builder.AddOp("MatMul", StrCat("product", i), {in, "w"}, {mid});
    builder.AddOp("Tanh", StrCat("act", i), {mid}, {out});
  }
  builder.AddOutput(StrCat("t", 2 * kLayers));
  const Result<GradGraph> made =
      MakeGradGraph(builder.Build("deep").value(), Rules(), {.loss = StrCat("sum:t", 2 * kLayers)});
  ASSERT_TRUE(made.ok()) << made.status().message();
  // One gradient of the shared weight, the sum of one term a layer.
  EXPECT_THAT(Outputs(made->graph), ElementsAre("loss", "grad/w"));
  EXPECT_EQ(Ops(made->graph, {"Add"}).size(), size_t{kLayers - 1});
}

// Programs of torch list the next values of buffers before what the module returns.
TEST(Grad, CountedResultsOfTorchAreThoseOfTheModule) {
  const auto error = [](std::string_view producer) {
    GraphBuilder builder("counted");
    builder.graph().metadata.emplace_back(kProducerName, producer);
    builder.AddInput("x", {DType::kF32, {4}});
    builder.AddParameter("w", {DType::kF32, {4}});
    builder.AddOp("Add", "count", {"w", "x"}, {"next/w"});
    builder.AddOp("Relu", "relu", {"x"}, {"y"});
    builder.AddOutput("next/w");
    builder.AddOutput("y");
    builder.AddTie("next/w", "w");
    return MakeGradGraph(builder.Build("counted").value(), Rules(), {.loss = "sum:output:1"}).status().message();
  };
  EXPECT_EQ(error(kTorchProducer), "--loss: output:1: the model has 1 output, counted from 0");
  EXPECT_EQ(error("pytorch").find("the model has"), std::string::npos);
}

TEST(Grad, SaysWhatIsWrong) {
  struct Row {
    GradRequest request;
    std::string message;
  };
  const Row rows[] = {
      {{.loss = "z"}, "--loss: \"z\" is f32[4,3]; a loss is one number: sum:NAME or mean:NAME make one of it"},
      {{.loss = "sum:zz"}, "--loss: there is no tensor \"zz\" (did you mean \"z\"?)"},
      {{.loss = "sum:z", .wrt = {"v"}}, "--wrt: no parameter matches \"v\" (did you mean \"w\"?)"},
      {{.loss = "sum:z", .freeze = {"*"}}, "no parameter is left to differentiate by"},
      {{.loss = "cross-entropy:z,ignore=x"}, "--loss: ignore=N takes a label, not \"x\""},
  };
  for (const Row& row : rows) {
    const Result<GradGraph> made = MakeGradGraph(Small("f32"), Rules(), row.request);
    ASSERT_FALSE(made.ok()) << row.message;
    EXPECT_EQ(made.status().message(), row.message);
  }
}

// Every op that takes floats and gives floats says what its derivative is, or is differentiated in code.
TEST(Grad, EveryOpHasADerivative) {
  std::vector<std::string> without;
  for (const auto& [name, op] : Rules().ops()) {
    for (const OpOverload& overload : op.overloads) {
      const auto may_be_float = [&](const Parameter& p) {
        if (p.keyword || p.kind == ParameterKind::kGraph) return false;
        const bool open = !ParseDType(p.type) && p.type != "int";
        return p.type == "float" || open || IsFloat(ParseDType(p.type).value_or(DType::kI64));
      };
      if (std::ranges::none_of(overload.parameters, may_be_float)) continue;
      // A result takes its type from an operand unless a type is stated.
      const auto is_exact = [](const Parameter& r) { return ParseDType(r.type) && !IsFloat(*ParseDType(r.type)); };
      if (std::ranges::all_of(overload.results, is_exact)) continue;
      const bool takes_ints = overload.parameters.front().type == "int" || overload.parameters.front().type == "string";
      if (takes_ints && overload.results.front().type.empty()) continue;
      const bool has = !overload.vjps.empty() || HasExpansion(name, Rules()) || HasBuiltinVjp(name) || IsUnrolled(name);
      if (!has) without.push_back(name);
    }
  }
  EXPECT_THAT(without, ElementsAre());
}

// exp(x w) twice, and a random number twice, by an op of the standard and by a user's: only the first two are one.
TEST(Grad, EqualOpsAreComputedOnce) {
  RuleSet rules = Rules();
  const Status added = rules.Add(R"(op acme::Noise(Tensor<float> x) -> Tensor y
  rule ... -> ...
  expand
    y = x + RandomNormalLike(x)
)",
                                 "acme.rules");
  ASSERT_TRUE(added.ok()) << added.message();
  GraphBuilder builder("twice");
  builder.AddInput("x", TypeOf("f32[4]"));
  for (const char* name : {"a", "b", "r", "s", "t", "u", "v", "n", "m", "y"})
    builder.DescribeTensor(name, TypeOf("f32[4]"));
  builder.AddOp("Exp", "one", {"x"}, {"a"}, {});
  builder.AddOp("Exp", "two", {"x"}, {"b"}, {});
  builder.AddOp("RandomNormalLike", "draw", {"x"}, {"r"}, {});
  builder.AddOp("RandomNormalLike", "again", {"x"}, {"s"}, {});
  builder.AddOp("Add", "t", {"a", "b"}, {"t"}, {});
  builder.AddOp("Add", "u", {"r", "s"}, {"u"}, {});
  builder.AddOp("acme::Noise", "noise", {"x"}, {"n"}, {});
  builder.AddOp("acme::Noise", "other", {"x"}, {"m"}, {});
  builder.AddOp("Add", "v", {"n", "m"}, {"v"}, {});
  builder.AddOp("Sum", "y", {"t", "u", "v"}, {"y"}, {});
  builder.AddOutput("y");
  Graph graph = builder.Build("twice").value();
  ShareEqualOps(graph, rules);
  DropUnneeded(graph);
  EXPECT_THAT(
      Ops(graph, {"Exp", "RandomNormalLike", "acme::Noise"}),
      ElementsAre("a = Exp", "r = RandomNormalLike", "s = RandomNormalLike", "n = acme::Noise", "m = acme::Noise"));
  ASSERT_TRUE(Verify(graph, "twice").ok());
}

// Attention keeps one number per row of scores, and no scores.
TEST(Grad, AttentionKeepsNoScores) {
  struct Row {
    std::string op;
    std::vector<std::string> inputs;
    Attributes attributes;
  };
  Attributes grouped, heads;
  for (const auto& [name, value] : {std::pair{"q_num_heads", 4}, {"kv_num_heads", 2}, {"is_causal", 1}}) {
    grouped.Set(name, int64_t{value});
  }
  heads.Set("num_heads", int64_t{2});
  heads.Set("unidirectional", int64_t{1});
  constexpr int64_t kRows = 48, kKeys = 56;
  const Row rows[] = {
      {"Attention", {"f32[1,48,32]", "f32[1,56,16]", "f32[1,56,16]"}, grouped},
      {"com.microsoft::MultiHeadAttention", {"f32[1,48,8]", "f32[1,56,8]", "f32[1,56,8]"}, heads},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.op);
    GraphBuilder builder("attention");
    for (size_t i = 0; i < 3; ++i) builder.AddInput(StrCat("x", i), TypeOf(row.inputs[i]));
    builder.DescribeTensor("y", TypeOf(row.inputs[0]));
    builder.AddOp(row.op, "attention", {"x0", "x1", "x2"}, {"y"}, row.attributes);
    builder.AddOutput("y");
    const Graph forward = builder.Build("attention").value();
    GradRequest request{.loss = "sum:y", .wrt_inputs = {"*"}};
    const GradGraph made = MakeGradGraph(forward, Rules(), request).value();
    EXPECT_EQ(Ops(made.graph, {"Attention"}).size(), 1u);
    EXPECT_EQ(Ops(made.graph, {"sbp::FlashAttentionGrad"}).size(), 1u);
    std::vector<std::string> names;
    for (const KeptTensor& kept : FindKept(made.graph)) names.push_back(made.graph.tensor(kept.tensor).name);
    EXPECT_THAT(names, Contains(EndsWith("/log_sum_exp")));
    EXPECT_THAT(Ops(made.graph, {"MatMul", "sbp::MaskedSoftmax", "sbp::AttentionScoresGrad"}), ElementsAre());
    const auto sizes = [](const GradGraph& of) {
      std::vector<int64_t> elements;
      for (const KeptTensor& kept : FindKept(of.graph)) {
        elements.push_back(of.graph.tensor(kept.tensor).type.num_elements());
      }
      return elements;
    };
    EXPECT_THAT(sizes(made), Each(Lt(kRows * kKeys)));
    EXPECT_THAT(sizes(made), Contains((row.op == "Attention" ? 4 : 2) * kRows));
    // Which the expansion does keep.
    request.custom_vjp = "none";
    EXPECT_THAT(sizes(MakeGradGraph(forward, Rules(), request).value()), Contains(Ge(2 * kRows * kKeys)));
  }
}

// Scores that are a result are kept anyway; a mask that is asked for has its own op.
TEST(Grad, AttentionWithScoresOrMaskDifferentiated) {
  const auto graph_of = [](const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    GraphBuilder builder("attention");
    for (const char* name : {"q", "k", "v"}) builder.AddInput(name, TypeOf("f32[1,2,4,8]"));
    builder.AddInput("mask", TypeOf("f32[4,4]"));
    builder.DescribeTensor("y", TypeOf("f32[1,2,4,8]"));
    if (outputs.size() > 1) builder.DescribeTensor("scores", TypeOf("f32[1,2,4,4]"));
    builder.AddOp("Attention", "attention", inputs, outputs);
    builder.AddOutput(outputs.back());
    return builder.Build("attention").value();
  };
  const GradGraph of_scores = MakeGradGraph(graph_of({"q", "k", "v"}, {"y", "", "", "scores"}), Rules(),
                                            {.loss = "sum:scores", .wrt_inputs = {"q"}})
                                  .value();
  EXPECT_THAT(Ops(of_scores.graph, {"sbp::FlashAttentionGrad"}), ElementsAre());
  const GradGraph of_mask =
      MakeGradGraph(graph_of({"q", "k", "v", "mask"}, {"y"}), Rules(), {.loss = "sum:y", .wrt_inputs = {"mask"}})
          .value();
  EXPECT_EQ(Ops(of_mask.graph, {"sbp::AttentionScoresGrad"}).size(), 1u);
  EXPECT_THAT(Ops(of_mask.graph, {"sbp::FlashAttentionGrad"}), ElementsAre());
}

std::vector<std::string> TrainedIn(const Graph& graph) {
  const std::vector<bool> trainable = FindTrainable(graph, Rules());
  std::vector<std::string> names;
  for (size_t t = 0; t < trainable.size(); ++t) {
    if (trainable[t]) names.push_back(graph.tensors[t].name);
  }
  return names;
}

// y = x w + slopes * keys, as ALiBi adds; `last`: the last of the keys.
std::vector<std::string> TrainedOf(double last) {
  GraphBuilder builder("alibi");
  builder.AddInput("x", TypeOf("f32[4,8]"));
  builder.AddParameter("w", TypeOf("f32[8,8]"));
  const auto numbers = [&](const std::string& name, const std::string& type, std::vector<double> values) {
    Literal literal{.type = TypeOf(type)};
    literal.floats = std::move(values);
    builder.AddParameter(name, literal.type, std::make_shared<const Literal>(literal));
  };
  numbers("slopes", "f32[4,1]", {0.25, 0.0625, 0.015625, 0.00390625});
  numbers("keys", "f32[8]", {-7, -6, -5, -4, -3, -2, -1, last});
  for (const char* name : {"p", "bias", "y"}) builder.DescribeTensor(name, TypeOf("f32[4,8]"));
  builder.AddOp("MatMul", "product", {"x", "w"}, {"p"});
  builder.AddOp("Mul", "bias", {"slopes", "keys"}, {"bias"});
  builder.AddOp("Add", "sum", {"p", "bias"}, {"y"});
  builder.AddOutput("y");
  const Graph graph = builder.Build("alibi").value();
  return TrainedIn(graph);
}

TEST(Trainable, PositionsAndWhatIsReadWithThemAreNotTrained) {
  EXPECT_THAT(TrainedOf(0), ElementsAre("w"));
  EXPECT_THAT(TrainedOf(0.5), ::testing::UnorderedElementsAre("w", "slopes", "keys"));  // unequal steps: a weight
}

TEST(Trainable, NumbersThatDecideSizesAndThoseWithoutANameAreNotTrained) {
  GraphBuilder builder("upsample");
  builder.AddInput("x", TypeOf("f32[1,4,2,2]"));
  const auto numbers = [&](const char* name, const char* type, std::vector<double> values) {
    Literal literal{.type = TypeOf(type)};
    literal.floats = std::move(values);
    builder.AddParameter(name, literal.type, std::make_shared<const Literal>(literal));
  };
  numbers("scales", "f32[4]", {1, 1, 2, 2});
  numbers("val_82", "f32[1]", {0.35});
  numbers("gate", "f32[1]", {0.35});
  numbers("val_4", "f32[2]", {1, 2});
  builder.AddOp("Resize", "up", {"x", "", "scales"}, {"u"});
  builder.AddOp("Mul", "scaled", {"u", "val_82"}, {"v"});
  builder.AddOp("Mul", "gated", {"v", "gate"}, {"w"});
  builder.AddOp("Mul", "columns", {"w", "val_4"}, {"y"});
  for (const char* name : {"u", "v", "w", "y"}) builder.DescribeTensor(name, TypeOf("f32[1,4,4,4]"));
  builder.AddOutput("y");
  EXPECT_THAT(TrainedIn(builder.Build("upsample").value()), ::testing::UnorderedElementsAre("gate", "val_4"));
}

}  // namespace
}  // namespace sbp
