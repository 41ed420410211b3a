// The Llama family (Touvron et al. 2023): RMS norm before each block, rotary positions, grouped queries, a gated MLP.
#include "generate/llama.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/cancelled.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "generate/layer_writer.h"
#include "generate/options.h"
#include "generate/sizes.h"
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

  Status Write(const GenerateOptions& options) {
    const TensorType places{DType::kI64, {sizes_.batch, sizes_.sequence}};
    builder_.AddInput("input_ids", places);
    builder_.AddInput("position_ids", places);
    w_.EnterScope("model");
    const std::string table = Weight("embed_tokens", {sizes_.vocabulary, sizes_.hidden});
    std::string x = w_.Op("Gather", "embed_tokens", {table, "input_ids"}, hidden_);
    WriteAngles();
    for (int64_t layer = 0; options.ops > 0 ? w_.count() < options.ops : layer < sizes_.layers; ++layer) {
      SBP_RETURN_IF_ERROR(RefuseCancelled(options.cancelled));
      const std::string scope = StrCat("model/layers.", layer);
      w_.EnterScope(scope);
      const std::string attended = Attention(scope, Norm("input_layernorm", x));
      w_.EnterScope(scope);
      x = w_.Op("Add", "attention_residual", {x, attended}, hidden_);
      const std::string normed = Norm("post_attention_layernorm", x);
      const std::string mixed =
          sizes_.experts > 0 ? Experts(scope, normed) : Mlp(scope + "/mlp", normed, sizes_.feed_forward);
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
    return OkStatus();
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

  std::string Mlp(const std::string& scope, const std::string& x, int64_t width) {
    w_.EnterScope(scope);
    const Shape wide{sizes_.batch, sizes_.sequence, width};
    const std::string gate = Linear("gate_proj", x, sizes_.hidden, width);
    const std::string active = w_.Op("Swish", "act_fn", {gate}, wide);
    const std::string up = Linear("up_proj", x, sizes_.hidden, width);
    const std::string gated = w_.Op("Mul", "gated", {active, up}, wide);
    return Linear("down_proj", gated, width, sizes_.hidden);
  }

  // Each token's row once for each of its experts.
  std::string Experts(const std::string& layer, const std::string& x) {
    const std::string scope = layer + "/block_sparse_moe";
    const std::string shared =
        sizes_.shared_feed_forward > 0 ? Mlp(scope + "/shared_expert", x, sizes_.shared_feed_forward) : "";
    w_.EnterScope(scope);
    const int64_t tokens = sizes_.batch * sizes_.sequence, rows = tokens * sizes_.top_k;
    const std::string expert = Route(x, rows);
    const Shape repeated{sizes_.batch, sizes_.sequence, sizes_.top_k, sizes_.hidden};
    const std::string apart = w_.Op("Unsqueeze", "apart", {x, w_.Ints("apart.axes", {2})},
                                    Shape{sizes_.batch, sizes_.sequence, 1, sizes_.hidden});
    const std::string copies = w_.Op("Expand", "copies", {apart, w_.Ints("copies.shape", repeated)}, repeated);
    const std::string given = Reshaped("given", copies, {rows, sizes_.hidden});
    w_.EnterScope(scope + "/experts");
    const Shape wide{rows, sizes_.feed_forward};
    const std::string active = w_.Op("Swish", "act_fn", {Grouped("gate_proj", given, expert, wide)}, wide);
    const std::string gated = w_.Op("Mul", "gated", {active, Grouped("up_proj", given, expert, wide)}, wide);
    const std::string made = Grouped("down_proj", gated, expert, {rows, sizes_.hidden});
    w_.EnterScope(scope);
    const std::string weighted = w_.Op("Mul", "weighted", {Reshaped("made", made, repeated), weights_}, repeated);
    Attributes attributes = WithAttribute("keepdims", int64_t{0});
    const std::string sum =
        w_.Op("ReduceSum", "sum", {weighted, w_.Ints("sum.axes", {2})}, hidden_, std::move(attributes));
    return shared.empty() ? sum : w_.Op("Add", "with_shared", {sum, shared}, hidden_);
  }

  // The experts of each row; weights_ (batch, sequence, top_k, 1) sum up to 1.
  std::string Route(const std::string& x, int64_t rows) {
    const Shape scores{sizes_.batch, sizes_.sequence, sizes_.experts};
    const Shape chosen{sizes_.batch, sizes_.sequence, sizes_.top_k};
    const std::string logits = w_.Op("MatMul", "gate", {x, Weight("gate", {sizes_.hidden, sizes_.experts})}, scores);
    const std::string shares = w_.Op("Softmax", "shares", {logits}, scores, WithAttribute("axis", int64_t{-1}));
    const std::string top = w_.scope() + "/top_k", values = top + "_values", indices = top + "_indices";
    builder_.AddOp("TopK", top, {shares, w_.Ints("top_k.k", {sizes_.top_k})}, {values, indices}, {}, w_.scope());
    builder_.DescribeTensor(values, {sizes_.dtype, chosen});
    builder_.DescribeTensor(indices, {DType::kI64, chosen});
    const std::string total = w_.Op("ReduceSum", "total", {values, w_.Ints("total.axes", {-1})},
                                    Shape{sizes_.batch, sizes_.sequence, 1}, WithAttribute("keepdims", int64_t{1}));
    const std::string normalised = w_.Op("Div", "weights", {values, total}, chosen);
    weights_ = w_.Op("Unsqueeze", "weights_apart", {normalised, w_.Ints("weights_apart.axes", {-1})},
                     Shape{sizes_.batch, sizes_.sequence, sizes_.top_k, 1});
    return w_.Op("Reshape", "expert", {indices, w_.Ints("expert.shape", {rows})}, TensorType{DType::kI64, {rows}});
  }

  std::string Reshaped(const std::string& name, const std::string& x, const Shape& to) {
    return w_.Op("Reshape", name, {x, w_.Ints(name + ".shape", to)}, to);
  }

  std::string Grouped(const std::string& name, const std::string& x, const std::string& expert, const Shape& to) {
    const int64_t from = name == "down_proj" ? sizes_.feed_forward : sizes_.hidden;
    return w_.Op("sbp::GroupedMatMul", name, {x, Weight(name, {sizes_.experts, from, to.back()}), expert}, to);
  }

  GraphBuilder& builder_;
  const DecoderSizes& sizes_;
  LayerWriter w_;
  Shape hidden_;
  std::string cosine_, sine_;
  std::string weights_;  // of the experts of the last layer
};

Result<Graph> Generate(const char* family, const DecoderSizes& sizes, const GenerateOptions& options) {
  if (sizes.positions.value_or(PositionKind::kRotary) != PositionKind::kRotary) {
    return UsageError(StrCat(family, " has --positions rope; learned and alibi are given to gpt, mpt"));
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    return UsageError(StrCat("--heads ", sizes.heads, " is no multiple of --kv-heads ", sizes.kv_heads));
  }
  if (sizes.hidden % (2 * sizes.heads) != 0) {
    return UsageError(
        StrCat("--hidden ", sizes.hidden, " does not divide into --heads ", sizes.heads, " of an even size each"));
  }
  SBP_RETURN_IF_ERROR(CheckSizes(sizes));
  GraphBuilder builder(family);
  SBP_RETURN_IF_ERROR(LlamaWriter(builder, sizes).Write(options));
  return builder.Build(StrCat("generate ", family));
}

}  // namespace

Result<Graph> GenerateLlama(const GenerateOptions& options) {
  DecoderSizes sizes = options.sizes;
  if (sizes.feed_forward == 0) sizes.feed_forward = 14336;
  if (sizes.kv_heads == 0) sizes.kv_heads = 8;
  if (sizes.vocabulary == 0) sizes.vocabulary = 128256;
  return Generate("llama", sizes, options);
}

Result<Graph> GenerateMoe(const GenerateOptions& options) {
  DecoderSizes sizes = options.sizes;
  if (sizes.feed_forward == 0) sizes.feed_forward = 14336;
  if (sizes.kv_heads == 0) sizes.kv_heads = 8;
  if (sizes.vocabulary == 0) sizes.vocabulary = 32000;
  if (sizes.experts == 0) sizes.experts = 8;
  if (sizes.top_k == 0) sizes.top_k = 2;
  if (sizes.top_k > sizes.experts) {
    return UsageError(StrCat("--top-k ", sizes.top_k, " is more than --experts ", sizes.experts));
  }
  return Generate("moe", sizes, options);
}

}  // namespace sbp
