// Plans that were made by recipes, found back from their layouts alone; and what has no word, by name.
#include "parallelism/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/planning.h"
#include "generate/generate.h"
#include "pipeline/pipeline.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Wanted {
  std::string family, recipe;
  bool trains = true;
  int64_t micro_batches = 1;
  std::string remat;
  std::vector<PinText> pins;
};

// Large enough that latencies decide nothing.
PlanningInput InputOf(const Wanted& wanted) {
  GenerateOptions options;
  options.sizes = {.layers = 2, .hidden = 2048, .heads = 16, .feed_forward = 4096, .kv_heads = 16};
  options.sizes.vocabulary = 32000;
  options.sizes.batch = 8;
  options.sizes.sequence = 1024;
  if (wanted.family == "moe") options.sizes.experts = 4, options.sizes.top_k = 2;
  PlanningInput input;
  input.loaded = std::make_shared<LoadedModel>();
  input.loaded->graph = GenerateGraph(wanted.family, options).value();
  input.mesh = ParseMesh("data=2,model=2").value();
  input.recipe = wanted.recipe;
  input.pins = wanted.pins;
  if (wanted.trains) {
    input.train.emplace();
    input.train->loss = "cross-entropy:logits";
    input.train->update.optimizer.optimizer = "adamw";
    input.train->update.accumulate = wanted.micro_batches;
    input.train->remat = wanted.remat;
  }
  return input;
}

Fold FoldOf(const Wanted& wanted) {
  const RuleSet rules = LoadRules().value();
  auto request = PreparePlan(InputOf(wanted), rules);
  EXPECT_TRUE(request.ok()) << request.status().message();
  const auto plan = MakePlan(*std::move(request));
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return FoldPlan(*plan).value();
}

const Mesh& TestMesh() {
  static const Mesh mesh = ParseMesh("data=2,model=2").value();
  return mesh;
}

std::string Folded(const Wanted& wanted) { return Dump(FoldOf(wanted), TestMesh()); }

constexpr std::string_view kTensorLayers = R"(model.embed_tokens weight: vocabulary over model
model.layers.0.self_attn.q_proj weight: column over model
model.layers.0.self_attn.k_proj weight: column over model
model.layers.0.self_attn.v_proj weight: column over model
model.layers.0.self_attn.o_proj weight: row over model
model.layers.0.mlp.gate_proj weight: column over model
model.layers.0.mlp.up_proj weight: column over model
model.layers.0.mlp.down_proj weight: row over model
model.layers.1.self_attn.q_proj weight: column over model
model.layers.1.self_attn.k_proj weight: column over model
model.layers.1.self_attn.v_proj weight: column over model
model.layers.1.self_attn.o_proj weight: row over model
model.layers.1.mlp.gate_proj weight: column over model
model.layers.1.mlp.up_proj weight: column over model
model.layers.1.mlp.down_proj weight: row over model
lm_head weight: column over model
)";

TEST(FoldPlan, StepsByRecipe) {
  EXPECT_EQ(Folded({"llama", "data=fsdp,model=sp"}),
            "axis data: data, stage 3, gathered anew\naxis model: tensor, between layers sequence\n" +
                std::string(kTensorLayers));
  // Gradients of one micro-batch are summed in parts, as no pin says otherwise.
  EXPECT_EQ(Folded({"llama", "data=zero1,model=sp"}),
            "axis data: data, stage 2\naxis model: tensor, between layers sequence\n" + std::string(kTensorLayers));
  EXPECT_EQ(Folded({.family = "llama", .recipe = "data=zero2,model=sp", .micro_batches = 4}),
            "axis data: data, stage 2\naxis model: tensor, between layers sequence\n" + std::string(kTensorLayers));
  EXPECT_EQ(Folded({"llama", "data=dp,model=zero3"}), "axis data: data\naxis model: data, stage 3\n");
}

TEST(FoldPlan, ForwardPlans) {
  EXPECT_EQ(Folded({.family = "llama", .recipe = "data=dp,model=tp", .trains = false}),
            "axis data: data\naxis model: tensor, between layers whole\n" + std::string(kTensorLayers));
}

TEST(FoldPlan, Experts) {
  const std::string text = Folded({.family = "moe", .recipe = "data=dp,model=ep"});
  EXPECT_THAT(text, HasSubstr("axis data: data\naxis model: expert\n"));
  EXPECT_THAT(text, HasSubstr("model.layers.1.block_sparse_moe.experts.down_proj weight: expert over model\n"));
  EXPECT_THAT(text, Not(HasSubstr("not ")));
}

TEST(FoldPlan, ContextAndRecomputation) {
  const Fold fold = FoldOf({.family = "gpt", .recipe = "data=dp,model=cp", .remat = "full:1,light"});
  EXPECT_EQ(fold.axes[1].use, AxisUse::kContext);
  EXPECT_EQ(fold.layers, (std::vector{Recomputation::kFull, Recomputation::kLight}));
  EXPECT_EQ(fold.batch, 8);
  EXPECT_EQ(fold.sequence, 1024);
  EXPECT_EQ(NearestRecipe(fold, TestMesh()), "data=dp,model=cp");
}

TEST(FoldPlan, WhatHasNoWordIsNamed) {
  Wanted wanted = {.family = "llama", .recipe = "", .trains = false};
  wanted.pins = {{"input_ids=(S(0), B)", "--pin"},           {"position_ids=(S(0), B)", "--pin"},
                 {"*.gate_proj.weight==(B, S(1))", "--pin"}, {"*.up_proj.weight==(B, S(1))", "--pin"},
                 {"*.down_proj.weight==(B, S(0))", "--pin"}, {"*.o_proj.weight==(B, S(1))", "--pin"}};
  const std::string text = Folded(wanted);
  EXPECT_THAT(text, HasSubstr("axis model: tensor"));
  EXPECT_THAT(text,
              HasSubstr("not model.layers.0.self_attn.o_proj.weight: is split along dimension 1 over model (column),"
                        " where tensor parallelism splits dimension 0"));
  EXPECT_THAT(
      text, HasSubstr("whole lm_head.weight: lies whole over model, where tensor parallelism splits its dimension 1"));
  EXPECT_THAT(
      text, HasSubstr("not model/layers.0/self_attn/o_proj_out: goes from (S(0), S(2)) to (S(0), B) by all-gather over"
                      " model, which tensor parallelism does not imply"));
}

}  // namespace
}  // namespace sbp
