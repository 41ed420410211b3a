#include "huggingface/families.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/graph.h"
#include "huggingface/reader.h"

namespace sbp {
namespace {

using testing::HasSubstr;

struct Published {
  std::string name, config;
  double parameters;  // of the checkpoint, tied weights once; DeepSeek-V3's without what predicts further tokens
};

// The keys of published configs that decide sizes.
std::vector<Published> PublishedModels() {
  return {
      {"Llama-3-8B",
       R"({"model_type":"llama","vocab_size":128256,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
           "num_attention_heads":32,"num_key_value_heads":8,"rope_theta":500000.0,"torch_dtype":"bfloat16"})",
       8'030'261'248},
      {"Mistral-7B",
       R"({"model_type":"mistral","vocab_size":32000,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
           "num_attention_heads":32,"num_key_value_heads":8,"sliding_window":4096,"torch_dtype":"bfloat16"})",
       7'241'732'096},
      {"Qwen2.5-7B",
       R"({"model_type":"qwen2","vocab_size":152064,"hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
           "num_attention_heads":28,"num_key_value_heads":4,"use_sliding_window":false,"torch_dtype":"bfloat16"})",
       7'615'616'512},
      {"Qwen3-8B",
       R"({"model_type":"qwen3","vocab_size":151936,"hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,
           "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"torch_dtype":"bfloat16"})",
       8'190'735'360},
      {"Gemma-7B",
       R"({"model_type":"gemma","vocab_size":256000,"hidden_size":3072,"intermediate_size":24576,"num_hidden_layers":28,
           "num_attention_heads":16,"num_key_value_heads":16,"head_dim":256,"torch_dtype":"bfloat16"})",
       8'537'680'896},
      {"Phi-3-mini",
       R"({"model_type":"phi3","vocab_size":32064,"hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,
           "num_attention_heads":32,"num_key_value_heads":32,"torch_dtype":"bfloat16"})",
       3'821'079'552},
      {"GPT-2", R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"vocab_size":50257})",
       124'439'808},
      {"Mixtral-8x7B",
       R"({"model_type":"mixtral","vocab_size":32000,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
           "num_attention_heads":32,"num_key_value_heads":8,"num_local_experts":8,"num_experts_per_tok":2})",
       46'702'792'704},
      {"Qwen3-30B-A3B",
       R"({"model_type":"qwen3_moe","vocab_size":151936,"hidden_size":2048,"intermediate_size":6144,"head_dim":128,
           "num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"num_experts":128,
           "num_experts_per_tok":8,"moe_intermediate_size":768,"norm_topk_prob":true})",
       30'532'122'624},
      {"DeepSeek-V3",
       R"({"model_type":"deepseek_v3","vocab_size":129280,"hidden_size":7168,"intermediate_size":18432,
           "moe_intermediate_size":2048,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,
           "n_shared_experts":1,"n_routed_experts":256,"kv_lora_rank":512,"q_lora_rank":1536,"qk_rope_head_dim":64,
           "v_head_dim":128,"qk_nope_head_dim":128,"n_group":8,"topk_group":4,"num_experts_per_tok":8,
           "first_k_dense_replace":3,"quantization_config":{"quant_method":"fp8"},
           "rope_scaling":{"beta_fast":32,"beta_slow":1,"factor":40,"mscale":1.0,"mscale_all_dim":1.0,
                           "original_max_position_embeddings":4096,"type":"yarn"}})",
       671'026'419'200},
  };
}

double ParametersOf(const Graph& graph) {
  double sum = 0;
  for (const Tensor& tensor : graph.tensors) {
    const bool counts = tensor.role == TensorRole::kParameter && tensor.literal == nullptr;
    if (counts) sum += static_cast<double>(tensor.type.num_elements());
  }
  return sum;
}

TEST(FamiliesTest, ParametersAreAsManyAsPublished) {
  for (const Published& model : PublishedModels()) {
    const Result<Graph> graph = ReadConfig(model.config, "config.json");
    ASSERT_TRUE(graph.ok()) << model.name << ": " << graph.status().message();
    EXPECT_EQ(Verify(*graph, "").message(), "") << model.name;
    EXPECT_NEAR(ParametersOf(*graph) / model.parameters, 1, 1e-3) << model.name << " " << ParametersOf(*graph);
  }
}

std::string ErrorOf(std::string_view config) {
  const Result<Graph> graph = ReadConfig(config, "config.json");
  if (graph.ok()) return "";
  EXPECT_EQ(graph.status().code(), Code::kBadInput);
  return graph.status().message();
}

TEST(FamiliesTest, EachFamilyHasDefaultsForAllItsKeys) {
  for (const huggingface::FamilyRow& row : huggingface::AllFamilies()) {
    EXPECT_EQ(ErrorOf(StrCat("{\"model_type\": \"", row.model_type, "\"}")), "") << row.model_type;
  }
}

TEST(FamiliesTest, MissingAndUnknownKeysAreTold) {
  const Result<Graph> graph = ReadConfig(R"({"model_type": "llama", "hidden_size": 64, "fancy_gate": 3})", "c");
  ASSERT_TRUE(graph.ok());
  const std::vector<std::string> notes = NotesOnConfig(*graph);
  ASSERT_EQ(notes.size(), 2);
  EXPECT_THAT(notes[0], HasSubstr("num_hidden_layers=32"));
  EXPECT_THAT(notes[0], testing::Not(HasSubstr("hidden_size")));
  EXPECT_THAT(notes[1], HasSubstr("fancy_gate"));
}

TEST(FamiliesTest, ModulesAreScopesAndParametersHaveTheirNames) {
  const Result<Graph> graph = ReadConfig(R"({"model_type": "llama", "num_hidden_layers": 2})", "c");
  ASSERT_TRUE(graph.ok());
  const NameIndex names(*graph);
  const TensorId weight = names.tensor("model.layers.1.self_attn.k_proj.weight");
  ASSERT_TRUE(weight.valid());
  EXPECT_EQ(ToString(graph->tensor(weight).type), "f32[4096,4096]");
  const OpId product = names.op("model/layers.1/self_attn/k_proj/linear");
  ASSERT_TRUE(product.valid());
  EXPECT_EQ(graph->scope_of(graph->op(product)), "model/layers.1/self_attn/k_proj");
}

TEST(FamiliesTest, ATiedHeadIsTheEmbedding) {
  for (const bool tied : {false, true}) {
    const Result<Graph> graph =
        ReadConfig(StrCat(R"({"model_type": "qwen2", "num_hidden_layers": 1, "tie_word_embeddings": )",
                          tied ? "true" : "false", "}"),
                   "c");
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(NameIndex(*graph).tensor("lm_head.weight").valid(), !tied);
  }
}

// The row of padding, -1: none.
int64_t PaddingOf(const std::string& config) {
  const Result<Graph> graph = ReadConfig(config, "c");
  EXPECT_TRUE(graph.ok()) << config << graph.status().message();
  for (const Op& op : graph->ops) {
    if (graph->type_of(op) != "Gather") continue;
    const AttributeValue* row = op.attributes->Find("padding_idx");
    return row == nullptr ? -1 : std::get<int64_t>(*row);
  }
  ADD_FAILURE() << "no embedding";
  return -1;
}

// As transformers hands pad_token_id to torch's embedding; GPT-2 does not.
TEST(FamiliesTest, PaddingLearnsNothingFromWhereItIsLookedUp) {
  const auto of = [](std::string_view family, std::string_view more) {
    return PaddingOf(StrCat(R"({"model_type":")", family, R"(","num_hidden_layers":1,"vocab_size":40)", more, "}"));
  };
  EXPECT_EQ(of("llama", ""), -1);
  EXPECT_EQ(of("llama", R"(,"pad_token_id":3)"), 3);
  EXPECT_EQ(of("llama", R"(,"pad_token_id":-1)"), 39);
  EXPECT_EQ(of("llama", R"(,"pad_token_id":40)"), -1);
  EXPECT_EQ(of("gemma", ""), 0);
  EXPECT_EQ(of("gemma2", R"(,"pad_token_id":null)"), -1);
  EXPECT_EQ(of("gpt2", R"(,"pad_token_id":3)"), -1);
  EXPECT_EQ(PaddingOf(R"({"model_type":"phi3","num_hidden_layers":1})"), 32'000);
}

TEST(FamiliesTest, WhatCannotBeReadSaysWhichKeyAndWhy) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr(":1:2: not valid JSON"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "llama", "model_type": "gpt2"})"), HasSubstr("\"model_type\" is given twice"));
  EXPECT_THAT(ErrorOf(R"({"hidden_size": 4})"), HasSubstr("without a text \"model_type\""));
  EXPECT_THAT(ErrorOf(R"({"model_type": "lama"})"), HasSubstr("did you mean \"llama\""));
  EXPECT_THAT(ErrorOf(R"({"model_type": "gemma3", "text_config": {}})"), HasSubstr("text_config"));
  const auto with = [](std::string_view rest) { return ErrorOf(StrCat(R"({"model_type": "llama", )", rest, "}")); };
  EXPECT_THAT(with(R"("hidden_size": -4)"), HasSubstr("key \"hidden_size\": expected a whole number of 1 to"));
  EXPECT_THAT(with(R"("hidden_size": 18446744073709551615)"), HasSubstr("key \"hidden_size\""));
  EXPECT_THAT(with(R"("num_hidden_layers": 1000000000)"), HasSubstr("key \"num_hidden_layers\""));
  EXPECT_THAT(with(R"("vocab_size": "many")"), HasSubstr("found \"many\""));
  EXPECT_THAT(with(R"("num_key_value_heads": 5)"), HasSubstr("does not divide num_attention_heads"));
  EXPECT_THAT(with(R"("hidden_act": "silo")"), HasSubstr("did you mean \"silu\""));
  EXPECT_THAT(with(R"("torch_dtype": "int8")"), HasSubstr("expected float32"));
  EXPECT_THAT(with(R"("rope_scaling": {"type": "liner", "factor": 2})"), HasSubstr("did you mean \"linear\""));
  EXPECT_THAT(with(R"("rope_scaling": {"type": "linear"})"), HasSubstr("needs \"factor\""));
  EXPECT_THAT(with(R"("rope_scaling": {"type": 3})"), HasSubstr("\"type\" is no text"));
  EXPECT_THAT(with(R"("rope_scaling": {"type": "yarn", "factor": 0})"), HasSubstr("\"factor\" is not above 0"));
  EXPECT_THAT(with(R"("rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 0})"), HasSubstr("\"beta_fast\""));
  EXPECT_THAT(with(R"("rope_scaling": {"type": "yarn", "factor": 4, "truncate": "no"})"), HasSubstr("\"truncate\""));
  EXPECT_THAT(with(R"("rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 4})"), HasSubstr("no numbers"));
  EXPECT_THAT(with(R"("rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1,
                   "original_max_position_embeddings": 8192})"),
              HasSubstr("\"high_freq_factor\" is not above"));
  EXPECT_THAT(with(R"("rope_scaling": {"type": "longrope", "short_factor": ["a"]})"), HasSubstr("a list of numbers"));
  EXPECT_THAT(with(R"("partial_rotary_factor": 0.5)"), HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(with(R"("quantization_config": {"quant_method": "gptq"})"), HasSubstr("not supported"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "gemma2", "layer_types": ["full_attention"]})"), HasSubstr("has 1 entries"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "deepseek_v3", "n_group": 7})"), HasSubstr("n_group"));
}

}  // namespace
}  // namespace sbp
