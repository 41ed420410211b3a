#include "naming/own_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "naming/fused_parts.h"
#include "naming/module_index.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;

std::string Read(std::string_view name) {
  const OwnName own = ReadOwnName(name);
  return StrCat(own.anonymous ? "anonymous " : "", own.scope, own.role.empty() ? "" : ":", own.role);
}

TEST(OwnName, PathsOfTorch) {
  EXPECT_EQ(Read("m.model.layers.0.mlp.gate_proj.weight"), "m/model/layers.0/mlp/gate_proj:weight");
  EXPECT_EQ(Read("encoder.layers.encoder_layer_0.self_attention.in_proj_bias"),
            "encoder/layers/encoder_layer_0/self_attention/in_proj:bias");
  EXPECT_EQ(Read("m.backbone.conv1.weight_bias"), "m/backbone/conv1:bias");  // of a folded normalisation
  EXPECT_EQ(Read("ps.net/transformer/h/0/attn/c_attn/weight"), "ps.net/transformer/h.0/attn/c_attn:weight");
  EXPECT_EQ(Read("model/layers.0/attention.q.weight"), "model/layers.0/attention/q:weight");
  EXPECT_EQ(Read("b2.running_var"), "b2:running_var");
  EXPECT_EQ(Read("moe.0.w1"), "moe.0:w1");
  EXPECT_EQ(Read("class_token"), "");
}

TEST(OwnName, OnnxruntimeAndItsQuantisers) {
  EXPECT_EQ(Read("model.layers.0.attn.q_proj.MatMul.weight"), "model/layers.0/attn/q_proj:weight");
  EXPECT_EQ(Read("model.layers.0.attn.qkv_proj.MatMul.weight_Q4"), "model/layers.0/attn/qkv_proj:weight");
  EXPECT_EQ(Read("model.layers.0.attn.qkv_proj.MatMul.weight_scales"), "model/layers.0/attn/qkv_proj:scale");
  EXPECT_EQ(Read("a.weight_quantized"), "a:weight");
  EXPECT_EQ(Read("a.weight_zero_point"), "a:zero_point");
  EXPECT_EQ(Read("model.layers.0.attn.q_proj.qweight"), "model/layers.0/attn/q_proj:weight");
  EXPECT_EQ(Read("Attention_0_qkv_weight"), "Attention_0_qkv:weight");
}

TEST(OwnName, TensorFlowKerasAndPaddle) {
  EXPECT_EQ(Read("mos_estimator_v1/dense_2/MatMul/ReadVariableOp/resource:0"), "mos_estimator_v1/dense_2");
  EXPECT_EQ(Read("conv2d_6/kernel:0"), "conv2d_6:weight");
  EXPECT_EQ(Read("model_1/conv2d_2/BiasAdd/ReadVariableOp;model_1/re_lu_2/Relu"), "model_1/conv2d_2");
  EXPECT_EQ(Read("conv2d_0.w_0"), "conv2d_0:weight");
  EXPECT_EQ(Read("batch_norm_1.w_2"), "batch_norm_1:running_var");
  EXPECT_EQ(Read("conv12_expand_weights"), "conv12_expand:weight");
}

TEST(OwnName, MadeUp) {
  for (const char* name : {"val_76", "onnx::MatMul_12", "const_fold_opt__738", "permute_10", "12", "_3", "",
                           "/m/time_proj/Constant_1_output_0", "jax2tf_get_logits_/Const_24:0", "unsqueeze_1",
                           "jax2tf_get_logits_/Const:0", "onnx::LSTM_353_quantized"}) {
    EXPECT_EQ(Read(name), "anonymous ") << name;
  }
  EXPECT_EQ(Read("val_76_scales"), "anonymous :scale");
  EXPECT_EQ(Read("val_76_DQ_Q4"), "anonymous ");
}

TEST(ScopedName, DividesAtTheLastColon) {
  const auto read = [](std::string_view text) {
    const auto name = ReadScopedName(text);
    return name ? StrCat(name->scope, "|", name->role) : "none";
  };
  EXPECT_EQ(read("layers.*/mlp/gate_proj:weight"), "layers.*.mlp.gate_proj|weight");
  EXPECT_EQ(read("/m/fc1/ : kernel"), "m.fc1|weight");
  EXPECT_EQ(read("self_attention:in_proj_weight"), "self_attention.in_proj|weight");
  EXPECT_EQ(read("mlp:*"), "mlp|*");
  EXPECT_EQ(read("onnx::MatMul_12"), "none");
  EXPECT_EQ(read("dense/kernel:0"), "none");
  EXPECT_EQ(read("mlp/fc1"), "none");
  EXPECT_EQ(read(":weight"), "none");
}

TEST(NamesScope, AboveAndNearest) {
  EXPECT_EQ(NamedAbove("layers.*", "backward/model/layers.3/mlp/act"), "backward/model/layers.3");
  EXPECT_EQ(NamedAbove("mlp", "model/layers.3"), "");
  EXPECT_EQ(NamedAbove("model", "model/layers.3/model"), "model");  // the outermost
  const std::vector<std::string_view> scopes = {"model/layers.0/mlp", "loss"};
  EXPECT_EQ(DidYouMeanScope("layer.0", scopes), " (did you mean \"layers.0\"?)");
  EXPECT_EQ(DidYouMeanScope("layers.0/mlpp", scopes), " (did you mean \"layers.0/mlp\"?)");
  EXPECT_EQ(DidYouMeanScope("nothing", scopes), "");
}

TEST(NamesScope, WholeLevelsFromTheEnd) {
  EXPECT_TRUE(NamesScope("layers.*/mlp", "m/model/layers.31/mlp"));
  EXPECT_TRUE(NamesScope("layers/3/mlp", "m/model/layers.3/mlp"));
  EXPECT_TRUE(NamesScope("layers.1/*", "layers.1/mlp"));
  EXPECT_FALSE(NamesScope("layers.1/mlp", "m/layers.11/mlp"));
  EXPECT_FALSE(NamesScope("yers.1/mlp", "m/layers.1/mlp"));
  // '*' stays within a level, so "layer.*/output" is not the output of a layer's attention; "**" is any levels.
  EXPECT_FALSE(NamesScope("layers.*", "m/layers.1/mlp"));
  EXPECT_FALSE(NamesScope("layer.*/output/dense", "m/layer.0/attention/output/dense"));
  EXPECT_TRUE(NamesScope("layer.0/**/dense", "m/layer.0/attention/output/dense"));
  EXPECT_TRUE(NamesScope("layer.0/**/dense", "m/layer.0/dense"));
  EXPECT_TRUE(NamesScope("m/**/b/**/c", "m/a/b/x/b/c"));
  EXPECT_FALSE(NamesScope("m/**/d/**/c", "m/a/b/x/b/c"));
  EXPECT_TRUE(NamesScope("layers.1/**", "m/layers.1/mlp/x"));
  EXPECT_TRUE(NamesScope("*proj", "m/mlp/gate_proj"));
}

TEST(PartScopes, ReplaceTheWordForAll) {
  EXPECT_THAT(PartScopes("a/qkv_proj", 3), ElementsAre("a/q_proj", "a/k_proj", "a/v_proj"));
  EXPECT_THAT(PartScopes("qkv.0", 3), ElementsAre("q.0", "k.0", "v.0"));
  EXPECT_THAT(PartScopes("h.0/attention/query_key_value", 3),
              ElementsAre("h.0/attention/query", "h.0/attention/key", "h.0/attention/value"));
  EXPECT_THAT(PartScopes("h.0/attn/c_attn", 3),
              ElementsAre("h.0/attn/c_attn/q", "h.0/attn/c_attn/k", "h.0/attn/c_attn/v"));
  EXPECT_THAT(PartScopes("mlp/gate_up_proj", 2), ElementsAre("mlp/gate_proj", "mlp/up_proj"));
  EXPECT_THAT(PartScopes("conv.0", 2), ElementsAre("conv.0/part.0", "conv.0/part.1"));
}

}  // namespace
}  // namespace sbp
