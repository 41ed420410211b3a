// The decoder that most families are: embedding, layers of attention and feed-forward with norms before (and behind)
// them, a norm, logits. What differs between families are fields; gpt2 alone is written by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/graph.h"
#include "huggingface/config.h"
#include "huggingface/module_writer.h"
#include "huggingface/rope.h"

namespace sbp::huggingface {

// An activation as an op, or "gelu_new": the pieces that transformers writes.
struct Activation {
  std::string op;
  AttributeList attributes;
};
std::string WriteActivation(const Activation& activation, const std::string& x, ModuleWriter& writer);
// Of "hidden_act" or what the family calls it. Error stays with `config`: an unknown name, with the nearest.
Activation ReadActivation(Config& config, std::string_view key, std::string_view fallback);

// Queries, keys and values by way of narrower ones (DeepSeek-V2, arXiv 2405.04434, section 2.1).
struct LatentAttention {
  int64_t query_rank = 0;  // 0: queries are made at once
  int64_t key_value_rank = 0;
  int64_t rotary = 0, plain = 0, value = 0;  // elements of a head: of queries and keys those that are turned and the
                                             // others; of values
  bool interleaved = true;                   // neighbours are turned, else halves
};

struct Router {
  enum class Kind {
    kSoftmax,  // shares of all experts, the largest are taken
    kSigmoid,  // scores each by itself, corrected for the choice; groups first (DeepSeek-V3, arXiv 2412.19437)
  };
  Kind kind = Kind::kSoftmax;
  int64_t experts = 0, top_k = 0;
  bool normalised = true;        // the shares of the chosen sum up to 1
  bool wide = true;              // shares stay f32, and so does what they are multiplied with
  double scale = 1;              // of kSigmoid
  int64_t groups = 1, kept = 1;  // of kSigmoid: experts are taken out of so many groups only
};
struct Experts {
  Router router;
  int64_t width = 0, shared_width = 0;  // of each expert's MLP; of one that all tokens go through, 0: none
};

struct LayerKind {
  int64_t window = 0;   // how many positions attention sees, its own included; 0: all before
  size_t rope = 0;      // of Decoder::ropes
  bool sparse = false;  // experts, not one MLP
};

struct Decoder {
  DType dtype = DType::kF32;
  int64_t vocabulary = 0, hidden = 0, feed_forward = 0;
  int64_t heads = 0, kv_heads = 0, head_size = 0;
  double epsilon = 1e-6;
  bool tied = false;
  Activation activation;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool fused = false;         // qkv_proj and gate_up_proj are one product each
  bool unit_offset = false;   // norms scale by 1 + weight, in f32
  bool norms_behind = false;  // attention and MLP have norms before and behind them
  bool qk_norms = false;      // of each head
  std::optional<double> score_scale, score_cap, logit_cap, embedding_scale;
  std::optional<int64_t> padding;  // the row of the embedding that learns nothing from where it is looked up
  std::vector<Rope> ropes;
  std::vector<LayerKind> layers;
  std::optional<LatentAttention> latent;
  std::optional<Experts> experts;
};

// What transformers has where a key is missing, of one family.
struct CommonDefaults {
  int64_t vocabulary = 32'000, hidden = 4096, feed_forward = 11'008, layers = 32, heads = 32;
  int64_t kv_heads = 0;       // 0: as many as heads
  int64_t head_size = 0;      // 0: hidden over heads
  bool has_head_size = true;  // else head_dim is not asked for
  double epsilon = 1e-6;
  bool tied = false;
  std::optional<int64_t> padding;  // pad_token_id
  std::string_view activation_key = "hidden_act", activation = "silu";
};
// The keys that all these families have: sizes, layers (none has a window), epsilon, activation. Errors stay with
// `config`, among them keys that no family supports.
Decoder ReadCommon(Config& config, const CommonDefaults& defaults);

// One rope for all layers, whose angles a head of head_size needs.
void ReadOneRope(Config& config, double theta, int64_t max_positions, Decoder& decoder);
// sliding_window of all layers; null or absent: none, or `fallback`.
void ReadWindow(Config& config, std::optional<int64_t> fallback, Decoder& decoder);
// As Qwen does: with use_sliding_window, the layers from max_window_layers on, or what layer_types says.
void ReadUpperWindows(Config& config, Decoder& decoder);
// layer_types: "sliding_attention" has a window, "full_attention" none. Without the key layer i is sliding where
// `is_sliding(i)`.
void ReadLayerTypes(Config& config, const std::function<bool(size_t layer)>& is_sliding, Decoder& decoder);

// Inputs input_ids (batch, seq), result logits (batch, seq, vocabulary). Error: that of `config`, where it has one;
// what GraphBuilder finds.
Result<Graph> WriteDecoder(const Config& config, const Decoder& decoder);

// Parts of WriteDecoder. Each is written into the module that the writer has entered, and gives its result.
struct Angles {
  std::string cosine, sine;  // (1, seq, what is turned), where neighbours are turned (1, seq, half of it)
};
std::string WriteAttention(const Decoder& decoder, const LayerKind& layer, const Angles& angles, const std::string& x,
                           ModuleWriter& writer);
std::string WriteLatentAttention(const Decoder& decoder, const Angles& angles, const std::string& x,
                                 ModuleWriter& writer);
std::string WriteMlp(const Decoder& decoder, const std::string& x, int64_t width, ModuleWriter& writer);
std::string WriteExperts(const Decoder& decoder, const std::string& x, ModuleWriter& writer);
std::string WriteNorm(const Decoder& decoder, const std::string& name, const std::string& x, int64_t size,
                      ModuleWriter& writer, std::optional<double> epsilon = std::nullopt);
// Of a tensor x of (..., size) in the module's type: the last product of every family.
void WriteLogits(const std::string& x, const std::string& weight, std::optional<double> cap, ModuleWriter& writer);

}  // namespace sbp::huggingface
