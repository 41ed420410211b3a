#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/builder.h"
#include "render/outline.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;

struct OpOf {
  std::string type, name;
  std::vector<std::string> inputs;
  std::string scope;
};

// Ops named like what they write; "x" is an input.
Plan PlanOf(const std::vector<OpOf>& ops) {
  GraphBuilder builder("g");
  const TensorType type{DType::kF32, {8, 8}};
  builder.AddInput("x", type);
  for (const OpOf& op : ops) {
    builder.AddOp(op.type, op.name, op.inputs, {op.name}, {}, op.scope);
    builder.DescribeTensor(op.name, type);
  }
  builder.AddOutput(ops.back().name);
  Plan plan;
  Result<Graph> graph = builder.Build("test");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (graph.ok()) plan.graph = *std::move(graph);
  return plan;
}

// Labels of the items of a node: of a scope its own, of an op its name.
std::vector<std::string> ItemsOf(const Plan& plan, const Outline& outline, uint32_t node) {
  std::vector<std::string> labels;
  for (const OutlineItem& item : outline.nodes[node].items) {
    labels.push_back(item.is_op ? plan.graph.ops[item.index].name : outline.nodes[item.index].label);
  }
  return labels;
}

uint32_t NodeAt(const Outline& outline, const std::string& path) {
  for (uint32_t n = 0; n < outline.nodes.size(); ++n) {
    if (outline.nodes[n].path == path) return n;
  }
  ADD_FAILURE() << "no node " << path;
  return 0;
}

TEST(ScopeCycles, AModuleCalledTwiceIsNoScope) {
  const Plan plan = PlanOf({{"Gemm", "a", {"x"}, "block/fc1"},
                            {"Relu", "b", {"a"}, "block/relu"},
                            {"MatMul", "c", {"b"}, "block/fc2"},
                            {"Relu", "d", {"c"}, "block/relu"},
                            {"Gemm", "e", {"d"}, "head"}});
  const Outline outline = BuildOutline(plan, {});
  const uint32_t block = NodeAt(outline, "block");
  EXPECT_THAT(ItemsOf(plan, outline, block), ElementsAre("fc1", "b", "fc2", "d"));
  EXPECT_EQ(outline.op_node[1], static_cast<int32_t>(block));
  EXPECT_EQ(outline.nodes[block].num_ops, 4u);
}

// Of several ops a call, as of activations that are spelled in pieces.
TEST(ScopeCycles, CallsOfSeveralOps) {
  const Plan plan = PlanOf({{"Sigmoid", "a", {"x"}, "silu"},
                            {"Mul", "b", {"x", "a"}, "silu"},
                            {"Gemm", "c", {"b"}, "fc"},
                            {"Sigmoid", "d", {"c"}, "silu"},
                            {"Mul", "e", {"c", "d"}, "silu"}});
  EXPECT_THAT(ItemsOf(plan, BuildOutline(plan, {}), 0), ElementsAre("a", "b", "fc", "d", "e"));
}

TEST(ScopeCycles, CallsBesideEachOtherStay) {
  const Plan plan = PlanOf({{"Gemm", "a", {"x"}, "left"},
                            {"Tanh", "b", {"x"}, "right"},
                            {"Relu", "c", {"a"}, "relu"},
                            {"Relu", "d", {"b"}, "relu"},
                            {"Add", "e", {"c", "d"}, "sum"}});
  EXPECT_THAT(ItemsOf(plan, BuildOutline(plan, {}), 0), ElementsAre("left", "right", "relu", "sum"));
}

// Parts that do different things are one module, whatever runs between them.
TEST(ScopeCycles, PartsOfOneModuleStay) {
  const Plan plan = PlanOf({{"Gemm", "a", {"x"}, "attn"},
                            {"Relu", "b", {"a"}, "mask"},
                            {"Softmax", "c", {"b"}, "attn"},
                            {"Add", "d", {"c"}, "sum"}});
  EXPECT_THAT(ItemsOf(plan, BuildOutline(plan, {}), 0), ElementsAre("attn", "mask", "sum"));
}

// What a fusion made of the end of one module and the begin of another has the scope of both.
TEST(ScopeCycles, AnOpBetweenPartsOfAScopeStandsInIt) {
  const Plan plan = PlanOf({{"Gemm", "a", {"x"}, "layer/attn"},
                            {"SkipNorm", "b", {"x", "a"}, ""},
                            {"Gemm", "c", {"b"}, "layer/ffn"},
                            {"SkipNorm", "d", {"b", "c"}, ""},
                            {"Tanh", "e", {"d"}, "head"}});
  const Outline outline = BuildOutline(plan, {});
  EXPECT_THAT(ItemsOf(plan, outline, 0), ElementsAre("layer", "d", "head"));
  EXPECT_THAT(ItemsOf(plan, outline, NodeAt(outline, "layer")), ElementsAre("attn", "b", "ffn"));
  EXPECT_EQ(outline.nodes[NodeAt(outline, "layer")].num_ops, 3u);
}

// Blocks are repeats still, and a module inside of a dissolved one comes up with it.
TEST(ScopeCycles, BlocksStillFold) {
  std::vector<OpOf> ops;
  std::string last = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string block = "blocks." + std::to_string(i), of = std::to_string(i);
    ops.push_back({"Gemm", "a" + of, {last}, block + "/fc1"});
    ops.push_back({"Relu", "b" + of, {"a" + of}, block + "/act/relu"});
    ops.push_back({"MatMul", "c" + of, {"b" + of}, block + "/fc2"});
    ops.push_back({"Relu", "d" + of, {"c" + of}, block + "/act/relu"});
    last = "d" + of;
  }
  const Plan plan = PlanOf(ops);
  const Outline outline = BuildOutline(plan, {});
  EXPECT_THAT(ItemsOf(plan, outline, 0), ElementsAre("blocks.0 .. blocks.2"));
  EXPECT_THAT(ItemsOf(plan, outline, NodeAt(outline, "blocks.0")), ElementsAre("fc1", "b0", "fc2", "d0"));
}

}  // namespace
}  // namespace sbp
