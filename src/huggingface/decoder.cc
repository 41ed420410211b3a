#include "huggingface/decoder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "graph/builder.h"
#include "graph/tensor_type.h"

namespace sbp::huggingface {
namespace {

constexpr std::string_view kGeluNew = "gelu_new";

// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), op by op.
std::string WriteGeluNew(const std::string& x, ModuleWriter& writer) {
  const auto number = [&](double value) { return writer.Number(value, writer.dtype()); };
  const std::string half = writer.Op("Mul", "half", {x, number(0.5)});
  const std::string cube =
      writer.Op("Mul", "cube_scaled", {writer.Op("Pow", "cube", {x, number(3)}), number(0.044715)});
  const double root = std::sqrt(2 / std::numbers::pi);
  const std::string inner = writer.Op("Mul", "inner", {writer.Op("Add", "with_cube", {x, cube}), number(root)});
  return writer.Op("Mul", "gelu", {half, writer.Op("Add", "above", {writer.Op("Tanh", "tanh", {inner}), number(1)})});
}

// Of neighbours that are turned each angle is there once, of halves twice.
Angles WriteAngles(const Rope& rope, bool halves_only, const std::string& scope, ModuleWriter& writer) {
  writer.Enter(scope);
  const std::string length = writer.Op("Shape", "length", {"input_ids"}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  const std::string limit = writer.Op("Squeeze", "limit", {length, writer.Ints({0})});
  const std::string positions = writer.Op("Range", "positions", {writer.Int(0), limit, writer.Int(1)});
  const std::string column = writer.Op("Unsqueeze", "column", {positions, writer.Ints({0, 2})});
  const std::string halves = writer.Op(
      "Mul", "angles", {writer.CastTo("float", column, DType::kF32), writer.Floats("inv_freq", rope.frequencies)});
  const std::string angles =
      halves_only ? halves : writer.Op("Concat", "cat", {halves, halves}, {{"axis", int64_t{-1}}});
  const std::string factor = writer.Number(rope.factor, DType::kF32);
  const auto of = [&](std::string_view function, const std::string& name) {
    const std::string table = writer.Op("Mul", name + "_scaled", {writer.Op(function, name, {angles}), factor});
    return writer.dtype() == DType::kF32 ? table : writer.CastTo(name + "_cast", table, writer.dtype());
  };
  const std::string cosine = of("Cos", "cos");
  return {cosine, of("Sin", "sin")};
}

std::string WriteLayer(const Decoder& decoder, const LayerKind& layer, const std::vector<Angles>& angles,
                       const std::string& scope, const std::string& x, ModuleWriter& writer) {
  writer.Enter(scope);
  const std::string normed = WriteNorm(decoder, "input_layernorm", x, decoder.hidden, writer);
  writer.Enter(scope + "/self_attn");
  std::string attended = decoder.latent ? WriteLatentAttention(decoder, angles[layer.rope], normed, writer)
                                        : WriteAttention(decoder, layer, angles[layer.rope], normed, writer);
  writer.Enter(scope);
  if (decoder.norms_behind) {
    attended = WriteNorm(decoder, "post_attention_layernorm", attended, decoder.hidden, writer);
  }
  const std::string middle = writer.Op("Add", "attention_residual", {x, attended});
  const std::string before = decoder.norms_behind ? "pre_feedforward_layernorm" : "post_attention_layernorm";
  const std::string given = WriteNorm(decoder, before, middle, decoder.hidden, writer);
  writer.Enter(scope + "/mlp");
  std::string made =
      layer.sparse ? WriteExperts(decoder, given, writer) : WriteMlp(decoder, given, decoder.feed_forward, writer);
  writer.Enter(scope);
  if (decoder.norms_behind) made = WriteNorm(decoder, "post_feedforward_layernorm", made, decoder.hidden, writer);
  return writer.Op("Add", "mlp_residual", {middle, made});
}

std::string WriteEmbedding(const Decoder& decoder, ModuleWriter& writer) {
  writer.Enter("model/embed_tokens");
  const std::string table = writer.Parameter("weight", {decoder.vocabulary, decoder.hidden});
  AttributeList attributes;
  if (decoder.padding) attributes.push_back({"padding_idx", *decoder.padding});
  std::string x = writer.Op("Gather", "embedding", {table, "input_ids"}, attributes);
  if (decoder.embedding_scale) {
    x = writer.Op("Mul", "scaled", {x, writer.Number(*decoder.embedding_scale, decoder.dtype)});
  }
  return x;
}

}  // namespace

Activation ReadActivation(Config& config, std::string_view key, std::string_view fallback) {
  const AttributeList tanh = {{"approximate", std::string("tanh")}};
  const std::pair<std::string_view, Activation> rows[] = {{"silu", {"Swish", {}}},
                                                          {"swish", {"Swish", {}}},
                                                          {"gelu", {"Gelu", {}}},
                                                          {"gelu_new", {std::string(kGeluNew), {}}},
                                                          {"gelu_pytorch_tanh", {"Gelu", tanh}},
                                                          {"relu", {"Relu", {}}},
                                                          {"sigmoid", {"Sigmoid", {}}},
                                                          {"tanh", {"Tanh", {}}}};
  const std::string name = config.Text(key, fallback);
  std::vector<std::string> known;
  for (const auto& [known_name, activation] : rows) {
    if (known_name == name) return activation;
    known.emplace_back(known_name);
  }
  const std::string_view shown = CutAtCharacter(name, 60);
  config.Refuse(key,
                StrCat("unknown activation ", Quote(shown), "; known: ", Join(known, ", "), DidYouMean(shown, known)));
  return {};
}

std::string WriteActivation(const Activation& activation, const std::string& x, ModuleWriter& writer) {
  const std::string outer = writer.scope();
  writer.Enter(outer + "/act_fn");
  std::string y;
  if (activation.op == kGeluNew) {
    y = WriteGeluNew(x, writer);
  } else {
    y = writer.Op(activation.op, "activation", {x}, activation.attributes);
  }
  writer.Enter(outer);
  return y;
}

namespace {

// pad_token_id is the padding_idx of torch's embedding, which counts negative ones from the end, and has none that it
// refuses.
std::optional<int64_t> ReadPadding(const Config& config, std::optional<int64_t> fallback, int64_t rows) {
  const Json* value = config.Find("pad_token_id");
  std::optional<int64_t> row = config.Contains("pad_token_id") ? std::nullopt : fallback;
  if (value != nullptr && value->is_number_integer()) row = value->get<int64_t>();
  if (!row || *row < -rows || *row >= rows) return std::nullopt;
  return *row < 0 ? *row + rows : *row;
}

}  // namespace

Decoder ReadCommon(Config& config, const CommonDefaults& defaults) {
  Decoder decoder;
  decoder.dtype = config.ElementType();
  decoder.vocabulary = config.Size("vocab_size", defaults.vocabulary);
  decoder.hidden = config.Size("hidden_size", defaults.hidden);
  decoder.feed_forward = config.Size("intermediate_size", defaults.feed_forward);
  decoder.layers.resize(static_cast<size_t>(config.Count("num_hidden_layers", 1, kMostLayers, defaults.layers)));
  decoder.heads = config.Size("num_attention_heads", defaults.heads);
  decoder.kv_heads = config.Size("num_key_value_heads", defaults.kv_heads > 0 ? defaults.kv_heads : decoder.heads);
  const int64_t head_size =
      defaults.head_size > 0 ? defaults.head_size : std::max<int64_t>(decoder.hidden / decoder.heads, 1);
  decoder.head_size = defaults.has_head_size ? config.Size("head_dim", head_size) : head_size;
  if (decoder.heads % decoder.kv_heads != 0) {
    config.Refuse("num_key_value_heads",
                  StrCat(decoder.kv_heads, " does not divide num_attention_heads, ", decoder.heads));
  }
  decoder.epsilon = config.Number("rms_norm_eps", defaults.epsilon);
  decoder.tied = config.Flag("tie_word_embeddings", defaults.tied);
  decoder.padding = ReadPadding(config, defaults.padding, decoder.vocabulary);
  decoder.activation = ReadActivation(config, defaults.activation_key, defaults.activation);
  config.ReadQuantization();
  config.RefuseIfSet("use_bidirectional_attention");
  config.RefuseIfSet("is_encoder_decoder");
  config.RefuseIfSet("output_router_logits");  // adds to the loss
  return decoder;
}

void ReadOneRope(Config& config, double theta, int64_t max_positions, Decoder& decoder) {
  const int64_t positions = config.Size("max_position_embeddings", max_positions);
  decoder.ropes = {ReadRope(config, {.theta = theta, .head_size = decoder.head_size, .max_positions = positions})};
}

void ReadWindow(Config& config, std::optional<int64_t> fallback, Decoder& decoder) {
  const bool is_absent = !config.Contains("sliding_window");
  if (is_absent && !fallback) return;
  if (!is_absent && !config.Has("sliding_window")) return;
  const int64_t window = config.Size("sliding_window", fallback);
  for (LayerKind& layer : decoder.layers) layer.window = window;
}

void ReadUpperWindows(Config& config, Decoder& decoder) {
  const bool slides = config.Has("use_sliding_window") && config.Flag("use_sliding_window", false);
  if (!slides) return;
  const auto first = static_cast<size_t>(config.Count("max_window_layers", 0, kMostLayers, 28));
  ReadLayerTypes(
      config, [=](size_t layer) { return layer >= first; }, decoder);
}

void ReadLayerTypes(Config& config, const std::function<bool(size_t layer)>& is_sliding, Decoder& decoder) {
  static const std::vector<std::string> kKinds = {"full_attention", "sliding_attention"};
  const std::vector<std::string> types = config.Texts("layer_types");
  if (config.Has("layer_types") && types.size() != decoder.layers.size()) {
    return config.Refuse("layer_types",
                         StrCat("has ", types.size(), " entries; num_hidden_layers is ", decoder.layers.size()));
  }
  for (size_t i = 0; i < decoder.layers.size(); ++i) {
    bool slides = types.empty() && is_sliding(i);
    if (!types.empty()) {
      slides = types[i] == "sliding_attention";
      if (!slides && types[i] != "full_attention") {
        const std::string_view shown = CutAtCharacter(types[i], 60);
        return config.Refuse("layer_types", StrCat("layer ", i, " is ", Quote(shown), "; expected one of ",
                                                   Join(kKinds, ", "), DidYouMean(shown, kKinds)));
      }
    }
    if (slides) decoder.layers[i].window = config.Size("sliding_window", 4096);
  }
}

std::string WriteNorm(const Decoder& decoder, const std::string& name, const std::string& x, int64_t size,
                      ModuleWriter& writer, std::optional<double> epsilon) {
  const std::string outer = writer.scope();
  writer.Enter(StrCat(outer, "/", name));
  const bool is_narrow = writer.dtype() != DType::kF32;
  std::string weight = writer.Parameter("weight", {size});
  const std::string wide = is_narrow ? writer.CastTo("float", x, DType::kF32) : x;
  const std::string square = writer.Op("Pow", "pow", {wide, writer.Number(2, DType::kF32)});
  const std::string mean = writer.Op("ReduceMean", "mean", {square, writer.Ints({-1})}, {{"keepdims", int64_t{1}}});
  const std::string above =
      writer.Op("Add", "add", {mean, writer.Number(epsilon.value_or(decoder.epsilon), DType::kF32)});
  const std::string inverse = writer.Op("Reciprocal", "rsqrt", {writer.Op("Sqrt", "sqrt", {above})});
  std::string y = writer.Op("Mul", "normalised", {wide, inverse});
  if (decoder.unit_offset) {
    if (is_narrow) weight = writer.CastTo("weight_float", weight, DType::kF32);
    y = writer.Op("Mul", "scaled", {y, writer.Op("Add", "offset", {weight, writer.Number(1, DType::kF32)})});
    if (is_narrow) y = writer.CastTo("cast", y, writer.dtype());
  } else {
    if (is_narrow) y = writer.CastTo("cast", y, writer.dtype());
    y = writer.Op("Mul", "scaled", {weight, y});
  }
  writer.Enter(outer);
  return y;
}

void WriteLogits(const std::string& x, const std::string& weight, std::optional<double> cap, ModuleWriter& writer) {
  writer.Enter("lm_head");
  const std::string turned = writer.Transposed("t", weight, {1, 0});
  if (!cap) return writer.Output("MatMul", "linear", {x, turned}, "logits");
  const std::string limit = writer.Number(*cap, writer.dtype());
  const std::string share = writer.Op("Div", "over_cap", {writer.Op("MatMul", "linear", {x, turned}), limit});
  writer.Output("Mul", "capped", {writer.Op("Tanh", "tanh", {share}), limit}, "logits");
}

Result<Graph> WriteDecoder(const Config& config, const Decoder& decoder) {
  SBP_RETURN_IF_ERROR(config.status());
  GraphBuilder builder("main");
  ModuleWriter writer(builder, decoder.dtype);
  builder.AddInput("input_ids", {DType::kI64, {kUnknownDim, kUnknownDim}}, {"batch", "seq"});
  std::string x = WriteEmbedding(decoder, writer);
  std::vector<Angles> angles;
  const bool neighbours = decoder.latent && decoder.latent->interleaved;
  for (size_t i = 0; i < decoder.ropes.size(); ++i) {
    angles.push_back(
        WriteAngles(decoder.ropes[i], neighbours, StrCat("model/rotary_emb", i == 0 ? "" : StrCat(".", i)), writer));
  }
  for (size_t i = 0; i < decoder.layers.size(); ++i) {
    x = WriteLayer(decoder, decoder.layers[i], angles, StrCat("model/layers.", i), x, writer);
  }
  writer.Enter("model");
  x = WriteNorm(decoder, "norm", x, decoder.hidden, writer);
  writer.Enter(decoder.tied ? "model/embed_tokens" : "lm_head");
  WriteLogits(x, writer.Parameter("weight", {decoder.vocabulary, decoder.hidden}), decoder.logit_cap, writer);
  return builder.Build("config.json");
}

}  // namespace sbp::huggingface
