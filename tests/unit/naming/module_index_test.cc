#include "naming/module_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/builder.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TensorType F32(Shape shape) {
  TensorType type;
  type.dtype = DType::kF32;
  type.shape = std::move(shape);
  return type;
}

class Model {
 public:
  Model() { builder_.AddInput("x", F32({2, 8})); }
  Model& Weight(const std::string& name, Shape shape) {
    builder_.AddParameter(name, F32(std::move(shape)));
    return *this;
  }
  Model& Op(const std::string& type, const std::string& name, const std::vector<std::string>& inputs,
            const std::vector<std::pair<std::string, Shape>>& outputs, const std::string& scope,
            Attributes attributes = {}) {
    std::vector<std::string> names;
    for (const auto& [output, shape] : outputs) {
      names.push_back(output);
      builder_.DescribeTensor(output, F32(shape));
    }
    builder_.AddOp(type, name, inputs, names, std::move(attributes), scope);
    return *this;
  }
  Model& Number(const std::string& name, int64_t value) {
    const auto literal = std::make_shared<const Literal>(Literal::Ints({value}));
    builder_.AddParameter(name, literal->type, literal);
    return *this;
  }
  Graph Build(const std::string& output) {
    builder_.AddOutput(output);
    return builder_.Build("test").value();
  }

 private:
  GraphBuilder builder_;
};

Attributes Axis(int64_t axis) {
  Attributes attributes;
  attributes.Set("axis", axis);
  return attributes;
}
Attributes Perm(std::vector<int64_t> perm) {
  Attributes attributes;
  attributes.Set("perm", std::move(perm));
  return attributes;
}

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> texts;
  const ModuleNames names(graph);
  for (const ModuleName& name : names.all()) texts.push_back(names.Label(graph, name.parameter));
  return texts;
}

std::vector<std::string> Matched(const Graph& graph, std::string_view text) {
  const ModuleIndex index(graph);
  std::vector<std::string> found;
  const ScopedMatch match = index.Match(ReadScopedName(text).value());
  for (const TensorId id : match.tensors) found.push_back(graph.tensor(id).name);
  for (const ModulePart& part : match.parts) {
    found.push_back(StrCat(graph.tensor(part.parameter).name, " dim ", part.dim, " ", part.begin, ":", part.end, " x",
                           part.groups));
  }
  return found;
}

TEST(ModuleNames, OfTheReader) {
  const Graph graph = Model()
                          .Weight("val_1", {8, 8})
                          .Weight("val_2", {8, 8})
                          .Weight("val_3", {4, 4})
                          .Weight("m.fc2.bias", {8})
                          .Op("MatMul", "mm1", {"x", "val_1"}, {{"a", {2, 8}}}, "m/fc1")
                          .Op("Transpose", "t", {"val_2"}, {{"w", {8, 8}}}, "")
                          .Op("MatMul", "mm2", {"a", "w"}, {{"b", {2, 8}}}, "m")
                          .Op("Add", "add", {"b", "m.fc2.bias"}, {{"y", {2, 8}}}, "m")
                          .Build("y");
  EXPECT_THAT(Names(graph), ElementsAre("val_1 (m/fc1:weight)", "val_2 (m/fc2:weight)", "m.fc2.bias"));
  EXPECT_THAT(Matched(graph, "fc*:weight"), ElementsAre("val_1", "val_2"));
  EXPECT_THAT(Matched(graph, "fc2:*"), ElementsAre("val_2", "m.fc2.bias"));
  EXPECT_THAT(Matched(graph, "m.fc1:kernel"), ElementsAre("val_1"));
  EXPECT_THAT(Matched(graph, "fc3:weight"), IsEmpty());
}

TEST(ModuleNames, QuantisedWeightsAndTheirScales) {
  const Graph graph =
      Model()
          .Weight("val_1_DQ_Q4", {8, 8})
          .Weight("val_1_DQ_scales", {8})
          .Weight("val_2_Q4", {8, 1, 4})
          .Weight("val_2_scales", {8, 2})
          .Op("DequantizeLinear", "dq", {"val_1_DQ_Q4", "val_1_DQ_scales"}, {{"w", {8, 8}}}, "")
          .Op("MatMul", "mm1", {"x", "w"}, {{"a", {2, 8}}}, "fc1")
          .Op("com.microsoft::MatMulNBits", "nb", {"a", "val_2_Q4", "val_2_scales"}, {{"b", {2, 8}}}, "fc2")
          .Build("b");
  EXPECT_THAT(Names(graph), ElementsAre("val_1_DQ_Q4 (fc1:weight)", "val_1_DQ_scales (fc1:scale)",
                                        "val_2_Q4 (fc2:weight)", "val_2_scales (fc2:scale)"));
}

// Several products of one module get numbers; a product without a module stands where its result is read.
TEST(ModuleNames, NumbersBesideEqualNames) {
  const Graph graph = Model()
                          .Weight("val_1", {8, 8})
                          .Weight("val_2", {8, 8})
                          .Weight("val_3", {8, 8})
                          .Op("Relu", "r", {"x"}, {{"h", {2, 8}}}, "l/norm")
                          .Op("MatMul", "q", {"h", "val_1"}, {{"a", {2, 8}}}, "")
                          .Op("Relu", "s", {"a"}, {{"b", {2, 8}}}, "l/attn")
                          .Op("MatMul", "o", {"b", "val_2"}, {{"c", {2, 8}}}, "")
                          .Op("Add", "residual", {"x", "c"}, {{"d", {2, 8}}}, "l")
                          .Op("MatMul", "alone", {"d", "val_3"}, {{"y", {2, 8}}}, "")
                          .Build("y");
  EXPECT_THAT(Names(graph),
              ElementsAre("val_1 (l/attn/MatMul.0:weight)", "val_2 (l/attn/MatMul.1:weight)", "val_3 (l:weight)"));
  EXPECT_THAT(Matched(graph, "attn:weight"), ElementsAre("val_1", "val_2"));
  EXPECT_THAT(Matched(graph, "attn/MatMul.1:weight"), ElementsAre("val_2"));
}

TEST(ModuleNames, WithoutAnyScopeTheReaderItself) {
  const Graph graph = Model().Weight("w", {8, 8}).Op("MatMul", "fc1", {"x", "w"}, {{"y", {2, 8}}}, "").Build("y");
  EXPECT_THAT(Matched(graph, "fc1:weight"), ElementsAre("w"));
  EXPECT_THAT(Names(graph), ElementsAre("w"));  // a name, though short: nothing stands beside it
}

TEST(ModuleIndex, ActivationsThatCrossAScope) {
  const Graph graph = Model()
                          .Op("Relu", "a", {"x"}, {{"h", {2, 8}}}, "m/l.0/fc1")
                          .Op("Relu", "b", {"h"}, {{"g", {2, 8}}}, "m/l.0/act")
                          .Op("Relu", "c", {"g"}, {{"y", {2, 8}}}, "m/l.1/fc1")
                          .Build("y");
  EXPECT_THAT(Matched(graph, "l.0:input"), ElementsAre("x"));
  EXPECT_THAT(Matched(graph, "l.0:output"), ElementsAre("g"));
  EXPECT_THAT(Matched(graph, "l.*:output"), ElementsAre("g", "y"));
  EXPECT_THAT(Matched(graph, "fc1:output"), ElementsAre("h", "y"));
  const ModuleIndex index(graph);
  EXPECT_THAT(index.Scopes("l.*"), ElementsAre("m/l.0", "m/l.1"));
  EXPECT_EQ(index.OpsOf("m/l.0").size(), 2u);
}

TEST(FusedParts, SplitOfTheProduct) {
  const Graph graph = Model()
                          .Weight("val_1", {8, 24})
                          .Weight("m.attn.qkv_proj.bias", {24})
                          .Op("MatMul", "mm", {"x", "val_1"}, {{"a", {2, 24}}}, "m/attn/qkv_proj")
                          .Op("Add", "add", {"a", "m.attn.qkv_proj.bias"}, {{"b", {2, 24}}}, "m/attn/qkv_proj")
                          .Op("Split", "s", {"b"}, {{"q", {2, 8}}, {"k", {2, 8}}, {"v", {2, 8}}}, "m/attn", Axis(-1))
                          .Op("Sum", "y", {"q", "k", "v"}, {{"y", {2, 8}}}, "m/attn")
                          .Build("y");
  EXPECT_THAT(Matched(graph, "k_proj:weight"), ElementsAre("val_1 dim 1 8:16 x1"));
  EXPECT_THAT(Matched(graph, "v_proj:bias"), ElementsAre("m.attn.qkv_proj.bias dim 0 16:24 x1"));
  EXPECT_THAT(Matched(graph, "attn/q_proj:output"), ElementsAre("q"));
  EXPECT_THAT(Matched(graph, "qkv_proj:weight"), ElementsAre("val_1"));
}

// A transposed weight: its rows are the product's columns. Slices in any order; gate and up.
TEST(FusedParts, SlicesOfATransposedWeight) {
  const Graph graph = Model()
                          .Weight("mlp.gate_up_proj.weight", {16, 8})
                          .Number("zero", 0)
                          .Number("half", 8)
                          .Number("all", 16)
                          .Number("axis", 1)
                          .Op("Transpose", "t", {"mlp.gate_up_proj.weight"}, {{"w", {8, 16}}}, "", Perm({1, 0}))
                          .Op("MatMul", "mm", {"x", "w"}, {{"a", {2, 16}}}, "mlp/gate_up_proj")
                          .Op("Slice", "s1", {"a", "half", "all", "axis"}, {{"up", {2, 8}}}, "mlp")
                          .Op("Slice", "s0", {"a", "zero", "half", "axis"}, {{"gate", {2, 8}}}, "mlp")
                          .Op("Mul", "y", {"gate", "up"}, {{"y", {2, 8}}}, "mlp")
                          .Build("y");
  EXPECT_THAT(Matched(graph, "mlp/up_proj:weight"), ElementsAre("mlp.gate_up_proj.weight dim 0 8:16 x1"));
}

// A fused weight that was cut apart while the model was read: each part has the part's name, the whole's means all.
TEST(FusedParts, CutApartAlready) {
  const Graph graph = Model()
                          .Weight("val_1[:,0:8]", {8, 8})
                          .Weight("val_1[:,8:16]", {8, 8})
                          .Weight("val_1[:,16:24]", {8, 8})
                          .Op("MatMul", "mv", {"x", "val_1[:,16:24]"}, {{"v", {2, 8}}}, "h.0/attn/c_attn")
                          .Op("MatMul", "mq", {"x", "val_1[:,0:8]"}, {{"q", {2, 8}}}, "h.0/attn/c_attn")
                          .Op("MatMul", "mk", {"x", "val_1[:,8:16]"}, {{"k", {2, 8}}}, "h.0/attn/c_attn")
                          .Op("Sum", "y", {"q", "k", "v"}, {{"y", {2, 8}}}, "h.0/attn")
                          .Build("y");
  EXPECT_THAT(Names(graph),
              ElementsAre("val_1[:,0:8] (h.0/attn/c_attn/q:weight)", "val_1[:,8:16] (h.0/attn/c_attn/k:weight)",
                          "val_1[:,16:24] (h.0/attn/c_attn/v:weight)"));
  EXPECT_THAT(Matched(graph, "c_attn/k:weight"), ElementsAre("val_1[:,8:16]"));
  EXPECT_THAT(Matched(graph, "attn/c_attn:weight"), ElementsAre("val_1[:,0:8]", "val_1[:,8:16]", "val_1[:,16:24]"));
}

// [heads, 3, size] behind one another: a piece of whole heads has all three parts alike.
TEST(FusedParts, PartsOfEachHead) {
  const Graph graph = Model()
                          .Weight("val_1", {8, 24})
                          .Number("i0", 0)
                          .Number("i1", 1)
                          .Number("i2", 2)
                          .Number("shape", 0)
                          .Op("MatMul", "mm", {"x", "val_1"}, {{"a", {2, 24}}}, "m/query_key_value")
                          .Op("Reshape", "r", {"a", "shape"}, {{"b", {2, 4, 3, 2}}}, "m")
                          .Op("Gather", "g0", {"b", "i0"}, {{"q", {2, 4, 2}}}, "m", Axis(2))
                          .Op("Gather", "g1", {"b", "i1"}, {{"k", {2, 4, 2}}}, "m", Axis(2))
                          .Op("Gather", "g2", {"b", "i2"}, {{"v", {2, 4, 2}}}, "m", Axis(2))
                          .Op("Sum", "y", {"q", "k", "v"}, {{"y", {2, 4, 2}}}, "m")
                          .Build("y");
  EXPECT_THAT(Matched(graph, "m/key:weight"), ElementsAre("val_1 dim 1 2:4 x4"));
}

TEST(ModuleIndex, NearestNamesHaveTheLevelsAsked) {
  Model model;
  std::string input = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    model.Weight("val_" + n, {8, 8});
    model.Op("MatMul", "mm" + n, {input, "val_" + n}, {{"y" + n, {2, 8}}}, "m/layers." + n + "/mlp/gate_proj");
    input = "y" + n;
  }
  const Graph graph = model.Build("y2");
  const ModuleIndex index(graph);
  EXPECT_EQ(index.NameForAll(graph.ops[0].inputs[1]), "layers.*/mlp/gate_proj:weight");
  EXPECT_THAT(index.Nearest("layers.*/mlp/gate_prj:weight"), ElementsAre("layers.*/mlp/gate_proj:weight"));
  EXPECT_THAT(index.Nearest("layers.*/mlp/gate_proj"), ElementsAre("layers.*/mlp/gate_proj:weight"));
  EXPECT_THAT(index.Nearest("layers.1/mlp/gate_proj:bias"), ElementsAre("layers.1/mlp/gate_proj:weight"));
  // Nothing is spelled alike: what the innermost scope holds that there is, else the model.
  EXPECT_EQ(index.DidYouMean("layers.*/mlp/experts/router:table"),
            " (\"layers.*.mlp\" has \"layers.*/mlp/gate_proj:weight\")");
  EXPECT_EQ(index.DidYouMean("nope.*"), " (the model has \"layers.*/mlp/gate_proj:weight\")");
}

}  // namespace
}  // namespace sbp
