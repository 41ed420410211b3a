#include "graph/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

using ::testing::Each;

// An embedding, layers of a product, a relu and a sum with what came before, and a head.
Graph Stack(int layers) {
  const TensorType type = *ParseTensorType("f32[16,8]");
  GraphBuilder builder("stack");
  builder.AddInput("ids", *ParseTensorType("i64[16]"));
  builder.AddParameter("table", *ParseTensorType("f32[100,8]"));
  builder.AddParameter("head", *ParseTensorType("f32[8,100]"));
  builder.DescribeTensor("x0", type);
  builder.AddOp("Gather", "embed", {"table", "ids"}, {"x0"});
  for (int i = 0; i < layers; ++i) {
    const std::string in = StrCat("x", i), out = StrCat("x", i + 1), w = StrCat("w", i), h = StrCat("h", i);
    builder.AddParameter(w, *ParseTensorType("f32[8,8]"));
    for (const std::string& name : {h, StrCat("r", i), out}) builder.DescribeTensor(name, type);
    builder.AddOp("MatMul", StrCat("fc", i), {in, w}, {h});
    builder.AddOp("Relu", StrCat("act", i), {h}, {StrCat("r", i)});
    builder.AddOp("Add", StrCat("sum", i), {in, StrCat("r", i)}, {out});
  }
  builder.DescribeTensor("y", *ParseTensorType("f32[16,100]"));
  builder.AddOp("MatMul", "logits", {StrCat("x", layers), "head"}, {"y"});
  builder.AddOutput("y");
  return *builder.Build("");
}

TEST(RepeatedLayers, AreFoundByWiringWithTheEndsOfTheStack) {
  const Graph graph = Stack(12);
  const Layers layers = FindRepeatedLayers(graph);
  ASSERT_EQ(layers.of_op.size(), graph.ops.size());
  EXPECT_EQ(layers.count, 12);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const std::string& name = graph.ops[o].name;
    const bool outside = name == "embed" || name == "logits";
    const int32_t layer = outside ? Layers::kNone : std::stoi(name.substr(name.find_first_of("0123456789")));
    EXPECT_EQ(layers.of_op[o], layer) << name;
  }
}

TEST(RepeatedLayers, AreNoneInAChainThatRepeatsNothing) {
  GraphBuilder builder("chain");
  builder.AddInput("x", *ParseTensorType("f32[4]"));
  builder.AddOp("Relu", "a", {"x"}, {"y"});
  builder.AddOp("Sigmoid", "b", {"y"}, {"z"});
  builder.AddOutput("z");
  for (const char* name : {"y", "z"}) builder.DescribeTensor(name, *ParseTensorType("f32[4]"));
  const Layers layers = FindRepeatedLayers(*builder.Build(""));
  EXPECT_EQ(layers.count, 0);
  EXPECT_THAT(layers.of_op, Each(Layers::kNone));
}

}  // namespace
}  // namespace sbp
