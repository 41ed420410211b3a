// The order of a training step's ops.
#include "grad/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"
#include "grad/grad.h"
#include "graph/builder.h"
#include "graph/passes.h"

namespace sbp {
namespace {

constexpr int kLayers = 3;

// Layers of a norm and a product, each in a scope of its own.
Graph TrainedLayers() {
  GraphBuilder builder("layers");
  const TensorType type = ParseTensorType("f32[8,8]").value();
  builder.AddInput("x", type);
  std::string at = "x";
  for (int i = 0; i < kLayers; ++i) {
    const std::string weight = StrCat("w", i), scale = StrCat("scale", i), norm = StrCat("norm", i),
                      product = StrCat("y", i);
    builder.AddParameter(weight, type);
    builder.AddParameter(scale, ParseTensorType("f32[8]").value());
    for (const std::string& made : {norm, product}) builder.DescribeTensor(made, type);
    builder.AddOp("LayerNormalization", norm, {at, scale}, {norm}, {}, StrCat("layers.", i));
    builder.AddOp("MatMul", product, {norm, weight}, {product}, {}, StrCat("layers.", i));
    at = product;
  }
  builder.AddOutput(at);
  Graph graph = builder.Build("layers").value();
  graph.opsets[""] = 21;
  GradRequest request{.loss = StrCat("mse:", at), .compute = "bf16"};
  request.update.optimizer.optimizer = "sgd";
  return MakeGradGraph(graph, *RuleSet::Builtin(), request).value().graph;
}

// Weights are fetched anew behind the products that want none; values of a layer's norm, which want none either, are
// not made before the cotangents have come to the layer.
TEST(RefetchForBackward, NothingIsMadeOfAllLayersAtOnce) {
  const Graph graph = TrainedLayers();
  const DataPasses passes(graph);
  const auto position_of = [&](std::string_view name) {
    const auto found = std::ranges::find(graph.ops, name, &Op::name);
    return static_cast<size_t>(found - graph.ops.begin());
  };
  for (int i = 0; i + 1 < kLayers; ++i) {
    const size_t cotangent = position_of(StrCat("backward/y", i + 1, "/d.a"));
    ASSERT_LT(cotangent, graph.ops.size());
    EXPECT_LT(position_of(StrCat("backward/y", i + 1, "/d.b")), cotangent);
    int made = 0;
    for (size_t o = 0; o < graph.ops.size(); ++o) {
      if (!passes.OpensBackward(graph.ops[o]) || !graph.scope_of(graph.ops[o]).ends_with(StrCat("layers.", i)))
        continue;
      ++made;
      EXPECT_GT(o, cotangent) << graph.ops[o].name;
    }
    EXPECT_GT(made, 0);
  }
}

}  // namespace
}  // namespace sbp
