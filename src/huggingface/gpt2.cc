// GPT-2 (Radford et al. 2019): layer norms, learned positions, a plain MLP, weights that lie (from, to), a tied head.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/tensor_type.h"
#include "huggingface/config.h"
#include "huggingface/decoder.h"
#include "huggingface/families.h"
#include "huggingface/module_writer.h"

namespace sbp::huggingface {
namespace {

struct Gpt2Sizes {
  DType dtype = DType::kF32;
  int64_t vocabulary = 0, positions = 0, hidden = 0, heads = 0, inner = 0, layers = 0;
  double epsilon = 0;
  bool scaled = true, scaled_by_layer = false, tied = true;
  Activation activation;
};

Gpt2Sizes ReadSizes(Config& config) {
  Gpt2Sizes sizes;
  sizes.dtype = config.ElementType();
  sizes.vocabulary = config.Size("vocab_size", 50'257);
  sizes.positions = config.Size(config.OneOf({"n_positions", "max_position_embeddings"}), 1024);
  sizes.hidden = config.Size(config.OneOf({"n_embd", "hidden_size"}), 768);
  sizes.layers = config.Count(config.OneOf({"n_layer", "num_hidden_layers"}), 1, kMostLayers, 12);
  sizes.heads = config.Size(config.OneOf({"n_head", "num_attention_heads"}), 12);
  sizes.inner = config.Has("n_inner") ? config.Size("n_inner") : 4 * sizes.hidden;
  sizes.epsilon = config.Number("layer_norm_epsilon", 1e-5);
  sizes.activation = ReadActivation(config, "activation_function", "gelu_new");
  sizes.scaled = config.Flag("scale_attn_weights", true);
  sizes.scaled_by_layer =
      config.Has("scale_attn_by_inverse_layer_idx") && config.Flag("scale_attn_by_inverse_layer_idx", false);
  sizes.tied = config.Flag("tie_word_embeddings", true);
  if (sizes.hidden % sizes.heads != 0) {
    config.Refuse("n_head", StrCat(sizes.heads, " does not divide n_embd, ", sizes.hidden));
  }
  config.RefuseIfSet("add_cross_attention");
  config.RefuseIfSet("reorder_and_upcast_attn");
  config.ReadQuantization();
  return sizes;
}

class Gpt2Writer {
 public:
  Gpt2Writer(const Gpt2Sizes& sizes, ModuleWriter& writer) : sizes_(sizes), writer_(writer) {}

  void Write() {
    std::string x = Embedded();
    for (int64_t i = 0; i < sizes_.layers; ++i) x = Layer(i, x);
    x = Norm("transformer/ln_f", x);
    writer_.Enter(sizes_.tied ? "transformer/wte" : "lm_head");
    WriteLogits(x, writer_.Parameter("weight", {sizes_.vocabulary, sizes_.hidden}), std::nullopt, writer_);
  }

 private:
  std::string Embedded() {
    writer_.Enter("transformer/wte");
    const std::string words = writer_.Op(
        "Gather", "embedding", {writer_.Parameter("weight", {sizes_.vocabulary, sizes_.hidden}), "input_ids"});
    writer_.Enter("transformer/wpe");
    const std::string length =
        writer_.Op("Shape", "length", {"input_ids"}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    const std::string limit = writer_.Op("Squeeze", "limit", {length, writer_.Ints({0})});
    const std::string places =
        writer_.Op("Unsqueeze", "position_ids",
                   {writer_.Op("Range", "positions", {writer_.Int(0), limit, writer_.Int(1)}), writer_.Ints({0})});
    const std::string table = writer_.Parameter("weight", {sizes_.positions, sizes_.hidden});
    const std::string positions = writer_.Op("Gather", "embedding", {table, places});
    writer_.Enter("transformer");
    return writer_.Op("Add", "embedded", {words, positions});
  }

  std::string Norm(const std::string& scope, const std::string& x) {
    writer_.Enter(scope);
    return writer_.Op("LayerNormalization", "layer_norm",
                      {x, writer_.Parameter("weight", {sizes_.hidden}), writer_.Parameter("bias", {sizes_.hidden})},
                      {{"axis", int64_t{-1}}, {"epsilon", sizes_.epsilon}});
  }

  // x W + b, as Conv1D has it.
  std::string Product(const std::string& scope, const std::string& x, int64_t from, int64_t to) {
    writer_.Enter(scope);
    const std::string sizes = writer_.Op("Shape", "sizes", {x}, {{"end", int64_t{2}}});
    const std::string y = writer_.Op("Gemm", "addmm",
                                     {writer_.Reshaped("rows", x, {-1, from}), writer_.Parameter("weight", {from, to}),
                                      writer_.Parameter("bias", {to})});
    const std::string shape = writer_.Op("Concat", "shape", {sizes, writer_.Ints({to})}, {{"axis", int64_t{0}}});
    return writer_.Op("Reshape", "view", {y, shape});
  }

  std::string Attention(int64_t layer, const std::string& scope, const std::string& x) {
    const int64_t hidden = sizes_.hidden, size = hidden / sizes_.heads;
    const std::string all = Product(scope + "/c_attn", x, hidden, 3 * hidden);
    writer_.Enter(scope);
    const std::vector<std::string> parts =
        writer_.Ops("Split", "split", {all, writer_.Ints({hidden, hidden, hidden})}, 3, {{"axis", int64_t{-1}}});
    std::vector<std::string> heads;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string name(1, "qkv"[i]);
      const std::string apart = writer_.Reshaped(name + "_view", parts[i], {0, 0, sizes_.heads, size});
      heads.push_back(writer_.Transposed(name + "_transpose", apart, {0, 2, 1, 3}));
    }
    double scale = sizes_.scaled ? 1 / std::sqrt(static_cast<double>(size)) : 1;
    if (sizes_.scaled_by_layer) scale /= static_cast<double>(layer + 1);
    const std::string mixed =
        writer_.Op("Attention", "attention", heads, {{"is_causal", int64_t{1}}, {"scale", scale}});
    const std::string joined =
        writer_.Reshaped("output_view", writer_.Transposed("output_transpose", mixed, {0, 2, 1, 3}), {0, 0, hidden});
    return Product(scope + "/c_proj", joined, hidden, hidden);
  }

  std::string Layer(int64_t layer, const std::string& x) {
    const std::string scope = StrCat("transformer/h.", layer);
    const std::string attended = Attention(layer, scope + "/attn", Norm(scope + "/ln_1", x));
    writer_.Enter(scope);
    const std::string middle = writer_.Op("Add", "attention_residual", {attended, x});
    const std::string wide = Product(scope + "/mlp/c_fc", Norm(scope + "/ln_2", middle), sizes_.hidden, sizes_.inner);
    writer_.Enter(scope + "/mlp");
    const std::string active = WriteActivation(sizes_.activation, wide, writer_);
    const std::string made = Product(scope + "/mlp/c_proj", active, sizes_.inner, sizes_.hidden);
    writer_.Enter(scope);
    return writer_.Op("Add", "mlp_residual", {middle, made});
  }

  const Gpt2Sizes& sizes_;
  ModuleWriter& writer_;
};

}  // namespace

Result<Graph> ReadGpt2(Config& config) {
  const Gpt2Sizes sizes = ReadSizes(config);
  SBP_RETURN_IF_ERROR(config.status());
  GraphBuilder builder("main");
  ModuleWriter writer(builder, sizes.dtype);
  builder.AddInput("input_ids", {DType::kI64, {kUnknownDim, kUnknownDim}}, {"batch", "seq"});
  Gpt2Writer(sizes, writer).Write();
  return builder.Build("config.json");
}

}  // namespace sbp::huggingface
