// The Llama family (Touvron et al. 2023): RMS norm before each block, rotary positions, grouped queries, a gated MLP.
#include "generate/llama.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "generate/layer_writer.h"
#include "generate/options.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr double kRotaryBase = 500'000;  // Llama 3's
constexpr double kNormEpsilon = 1e-5;

class LlamaWriter {
 public:
  LlamaWriter(GraphBuilder& builder, const DecoderSizes& sizes)
      : builder_(builder),
        sizes_(sizes),
        w_(builder, sizes.dtype),
        hidden_{sizes.batch, sizes.sequence, sizes.hidden} {}

  void Write(int64_t ops) {
    const TensorType places{DType::kI64, {sizes_.batch, sizes_.sequence}};
    builder_.AddInput("input_ids", places);
    builder_.AddInput("position_ids", places);
    w_.EnterScope("model");
    const std::string table = Weight("embed_tokens", {sizes_.vocabulary, sizes_.hidden});
    std::string x = w_.Op("Gather", "embed_tokens", {table, "input_ids"}, hidden_);
    WriteAngles();
    for (int64_t layer = 0; ops > 0 ? w_.count() < ops : layer < sizes_.layers; ++layer) {
      const std::string scope = StrCat("model/layers.", layer);
      w_.EnterScope(scope);
      const std::string attended = Attention(scope, Norm("input_layernorm", x));
      w_.EnterScope(scope);
      x = w_.Op("Add", "attention_residual", {x, attended}, hidden_);
      const std::string mixed = Mlp(scope, Norm("post_attention_layernorm", x));
      w_.EnterScope(scope);
      x = w_.Op("Add", "mlp_residual", {x, mixed}, hidden_);
    }
    w_.EnterScope("model");
    x = Norm("norm", x);
    w_.EnterScope("head");
    const Shape logits{sizes_.batch, sizes_.sequence, sizes_.vocabulary};
    const std::string weight = sizes_.tied.value_or(false)
                                   ? w_.Op("Transpose", "tied", {table}, Shape{sizes_.hidden, sizes_.vocabulary},
                                           WithAttribute("perm", std::vector<int64_t>{1, 0}))
                                   : w_.Parameter("lm_head.weight", {sizes_.hidden, sizes_.vocabulary});
    builder_.AddOp("MatMul", "head/lm_head", {x, weight}, {"logits"}, {}, "head");
    builder_.DescribeTensor("logits", {sizes_.dtype, logits});
    builder_.AddOutput("logits");
  }

 private:
  int64_t HeadSize() const { return sizes_.hidden / sizes_.heads; }

  // As modules name them: dots between all levels.
  std::string Weight(const std::string& module, Shape shape) {
    std::string scope = w_.scope();
    std::ranges::replace(scope, '/', '.');
    return w_.Parameter(StrCat(scope, ".", module, ".weight"), std::move(shape));
  }

  std::string Norm(const std::string& name, const std::string& x) {
    return w_.Op("RMSNormalization", name, {x, Weight(name, {sizes_.hidden})}, hidden_,
                 WithAttribute("epsilon", kNormEpsilon));
  }

  std::string Linear(const std::string& name, const std::string& x, int64_t from, int64_t to) {
    return w_.Op("MatMul", name, {x, Weight(name, {from, to})}, Shape{sizes_.batch, sizes_.sequence, to});
  }

  // Cosines and sines of each position, for all layers.
  void WriteAngles() {
    const int64_t pairs = HeadSize() / 2;
    Literal frequencies{.type = {DType::kF32, {pairs}}};
    for (int64_t i = 0; i < pairs; ++i) {
      const double exponent = static_cast<double>(i) / static_cast<double>(pairs);
      frequencies.floats.push_back(static_cast<float>(std::pow(kRotaryBase, -exponent)));
    }
    w_.EnterScope("model/rotary_emb");
    const std::string inverse = w_.Constant("model.rotary_emb.inv_freq", std::move(frequencies));
    const TensorType place{DType::kF32, {sizes_.batch, sizes_.sequence, 1}};
    const TensorType angle{DType::kF32, {sizes_.batch, sizes_.sequence, pairs}};
    const Attributes to_f32 = WithAttribute("to", static_cast<int64_t>(DType::kF32));
    const std::string column =
        w_.Op("Unsqueeze", "column", {"position_ids", w_.Ints("last", {-1})}, {DType::kI64, place.shape});
    const std::string angles =
        w_.Op("Mul", "angles", {w_.Op("Cast", "positions", {column}, place, to_f32), inverse}, angle);
    cosine_ = w_.Op("Cos", "cos", {angles}, angle);
    sine_ = w_.Op("Sin", "sin", {angles}, angle);
    if (sizes_.dtype == DType::kF32) return;
    const Attributes to = WithAttribute("to", static_cast<int64_t>(sizes_.dtype));
    cosine_ = w_.Op("Cast", "cos_cast", {cosine_}, angle.shape, to);
    sine_ = w_.Op("Cast", "sin_cast", {sine_}, angle.shape, to);
  }

  std::string Rotated(const std::string& name, const std::string& x, int64_t heads) {
    return w_.Op("RotaryEmbedding", name, {x, cosine_, sine_}, Shape{sizes_.batch, sizes_.sequence, heads * HeadSize()},
                 WithAttribute("num_heads", heads));
  }

  std::string Attention(const std::string& layer, const std::string& x) {
    w_.EnterScope(layer + "/self_attn");
    const int64_t wide = sizes_.heads * HeadSize(), narrow = sizes_.kv_heads * HeadSize();
    const std::string q = Linear("q_proj", x, sizes_.hidden, wide), k = Linear("k_proj", x, sizes_.hidden, narrow),
                      v = Linear("v_proj", x, sizes_.hidden, narrow);
    Attributes attributes = WithAttribute("is_causal", int64_t{1});
    attributes.Set("q_num_heads", sizes_.heads);
    attributes.Set("kv_num_heads", sizes_.kv_heads);
    const std::string mixed =
        w_.Op("Attention", "attention",
              {Rotated("q_rotary", q, sizes_.heads), Rotated("k_rotary", k, sizes_.kv_heads), v}, hidden_, attributes);
    return Linear("o_proj", mixed, wide, sizes_.hidden);
  }

  std::string Mlp(const std::string& layer, const std::string& x) {
    w_.EnterScope(layer + "/mlp");
    const Shape wide{sizes_.batch, sizes_.sequence, sizes_.feed_forward};
    const std::string gate = Linear("gate_proj", x, sizes_.hidden, sizes_.feed_forward);
    const std::string active = w_.Op("Swish", "act_fn", {gate}, wide);
    const std::string up = Linear("up_proj", x, sizes_.hidden, sizes_.feed_forward);
    const std::string gated = w_.Op("Mul", "gated", {active, up}, wide);
    return Linear("down_proj", gated, sizes_.feed_forward, sizes_.hidden);
  }

  GraphBuilder& builder_;
  const DecoderSizes& sizes_;
  LayerWriter w_;
  Shape hidden_;
  std::string cosine_, sine_;
};

}  // namespace

Result<Graph> GenerateLlama(const GenerateOptions& options) {
  DecoderSizes sizes = options.sizes;
  if (sizes.feed_forward == 0) sizes.feed_forward = 14336;
  if (sizes.kv_heads == 0) sizes.kv_heads = 8;
  if (sizes.vocabulary == 0) sizes.vocabulary = 128256;
  if (sizes.positions.value_or(PositionKind::kRotary) != PositionKind::kRotary) {
    return UsageError("llama has --positions rope; learned and alibi are given to gpt, mpt");
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    return UsageError(StrCat("--heads ", sizes.heads, " is no multiple of --kv-heads ", sizes.kv_heads));
  }
  if (sizes.hidden % (2 * sizes.heads) != 0) {
    return UsageError(
        StrCat("--hidden ", sizes.hidden, " does not divide into --heads ", sizes.heads, " of an even size each"));
  }
  GraphBuilder builder("llama");
  LlamaWriter(builder, sizes).Write(options.ops);
  return builder.Build("generate llama");
}

}  // namespace sbp
