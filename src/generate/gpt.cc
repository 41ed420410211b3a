// GPT (Radford et al. 2019), and MPT of MosaicML's llm-foundry, which leaves out biases and adds ALiBi to the scores.
#include "generate/gpt.h"

#include <algorithm>
#include <bit>
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

constexpr double kLayerNormEpsilon = 1e-5;
constexpr double kAlibiMost = 8;  // the greatest exponent of a head's slope

// Press et al. 2021: 2^(-8 i / n) for i = 1..n; of heads that are no power of two, those of the next power of two,
// every second first.
std::vector<double> AlibiSlopes(int64_t heads) {
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(heads)));
  std::vector<double> slopes;
  const auto add = [&](int64_t from) {
    for (int64_t i = from; i <= power; i += power == heads ? 1 : 2) {
      slopes.push_back(std::exp2(-kAlibiMost * static_cast<double>(i) / static_cast<double>(power)));
    }
  };
  if (power == heads) {
    add(1);
  } else {
    add(2);
    add(1);
  }
  slopes.resize(static_cast<size_t>(heads));
  return slopes;
}

class GptWriter {
 public:
  GptWriter(GraphBuilder& builder, const DecoderSizes& sizes, bool biases)
      : builder_(builder),
        sizes_(sizes),
        biases_(biases),
        w_(builder, sizes.dtype),
        hidden_{sizes.batch, sizes.sequence, sizes.hidden} {}

  Status Write(const GenerateOptions& options) {
    builder_.AddInput("input_ids", {DType::kI64, {sizes_.batch, sizes_.sequence}});
    w_.EnterScope("model");
    const std::string table = w_.Parameter("model.wte.weight", {sizes_.vocabulary, sizes_.hidden});
    std::string x = w_.Op("Gather", "wte", {table, "input_ids"}, hidden_);
    if (sizes_.positions == PositionKind::kAlibi) {
      WriteAlibi();
    } else {
      x = w_.Op("Add", "wpe", {x, w_.Parameter("model.wpe.weight", {sizes_.sequence, sizes_.hidden})}, hidden_);
    }
    for (int64_t layer = 0; options.ops > 0 ? w_.count() < options.ops : layer < sizes_.layers; ++layer) {
      SBP_RETURN_IF_ERROR(RefuseCancelled(options.cancelled));
      const std::string scope = StrCat("model/layers.", layer);
      w_.EnterScope(scope);
      const std::string attended = Attention(scope, Norm("norm_1", x));
      w_.EnterScope(scope);
      x = w_.Op("Add", "attention_residual", {x, attended}, hidden_);
      const std::string mixed = Mlp(scope, Norm("norm_2", x));
      w_.EnterScope(scope);
      x = w_.Op("Add", "mlp_residual", {x, mixed}, hidden_);
    }
    w_.EnterScope("model");
    x = Norm("norm_f", x);
    w_.EnterScope("head");
    const Shape turned{sizes_.hidden, sizes_.vocabulary};
    const std::string weight =
        *sizes_.tied ? w_.Op("Transpose", "tied", {table}, turned, WithAttribute("perm", std::vector<int64_t>{1, 0}))
                     : w_.Parameter("lm_head.weight", turned);
    builder_.AddOp("MatMul", "head/lm_head", {x, weight}, {"logits"}, {}, "head");
    builder_.DescribeTensor("logits", {sizes_.dtype, {sizes_.batch, sizes_.sequence, sizes_.vocabulary}});
    builder_.AddOutput("logits");
    return OkStatus();
  }

 private:
  // As modules name them: dots between all levels.
  std::string Weight(const std::string& name, Shape shape) {
    std::string scope = w_.scope();
    std::ranges::replace(scope, '/', '.');
    return w_.Parameter(StrCat(scope, ".", name), std::move(shape));
  }

  std::string Norm(const std::string& name, const std::string& x) {
    std::vector<std::string> inputs{x, Weight(name + ".weight", {sizes_.hidden})};
    if (biases_) inputs.push_back(Weight(name + ".bias", {sizes_.hidden}));
    Attributes attributes = WithAttribute("axis", int64_t{-1});
    attributes.Set("epsilon", kLayerNormEpsilon);
    return w_.Op("LayerNormalization", name, inputs, hidden_, std::move(attributes));
  }

  std::string Linear(const std::string& name, const std::string& x, int64_t from, int64_t to) {
    const Shape shape{sizes_.batch, sizes_.sequence, to};
    const std::string product = w_.Op("MatMul", name, {x, Weight(name + ".weight", {from, to})}, shape);
    return biases_ ? w_.Op("Add", name + "_bias", {product, Weight(name + ".bias", {to})}, shape) : product;
  }

  // A bias of (1, heads, 1, positions), slope x (key - last key): a row's scores may be shifted by any constant, so
  // that it need not know its query.
  void WriteAlibi() {
    w_.EnterScope("model/alibi");
    Literal slopes{.type = {DType::kF32, {1, sizes_.heads, 1, 1}}}, keys{.type = {DType::kF32, {sizes_.sequence}}};
    slopes.floats = AlibiSlopes(sizes_.heads);
    for (int64_t i = 0; i < sizes_.sequence; ++i) keys.floats.push_back(static_cast<double>(i + 1 - sizes_.sequence));
    const TensorType type{DType::kF32, {1, sizes_.heads, 1, sizes_.sequence}};
    alibi_ = w_.Op(
        "Mul", "bias",
        {w_.Constant("model.alibi.slopes", std::move(slopes)), w_.Constant("model.alibi.keys", std::move(keys))}, type);
    if (sizes_.dtype == DType::kF32) return;
    alibi_ = w_.Op("Cast", "bias_cast", {alibi_}, type.shape, WithAttribute("to", static_cast<int64_t>(sizes_.dtype)));
  }

  std::string Attention(const std::string& layer, const std::string& x) {
    w_.EnterScope(layer + "/attn");
    const int64_t narrow = sizes_.hidden / sizes_.heads * sizes_.kv_heads;
    std::vector<std::string> inputs{Linear("q_proj", x, sizes_.hidden, sizes_.hidden),
                                    Linear("k_proj", x, sizes_.hidden, narrow),
                                    Linear("v_proj", x, sizes_.hidden, narrow)};
    if (!alibi_.empty()) inputs.push_back(alibi_);
    Attributes attributes = WithAttribute("is_causal", int64_t{1});
    attributes.Set("q_num_heads", sizes_.heads);
    attributes.Set("kv_num_heads", sizes_.kv_heads);
    return Linear("out_proj", w_.Op("Attention", "attention", inputs, hidden_, attributes), sizes_.hidden,
                  sizes_.hidden);
  }

  std::string Mlp(const std::string& layer, const std::string& x) {
    w_.EnterScope(layer + "/ffn");
    const Shape wide{sizes_.batch, sizes_.sequence, sizes_.feed_forward};
    const std::string up = Linear("up_proj", x, sizes_.hidden, sizes_.feed_forward);
    return Linear("down_proj", w_.Op("Gelu", "act", {up}, wide), sizes_.feed_forward, sizes_.hidden);
  }

  GraphBuilder& builder_;
  const DecoderSizes& sizes_;
  bool biases_;
  LayerWriter w_;
  Shape hidden_;
  std::string alibi_;  // empty: no mask
};

Result<Graph> Generate(const std::string& family, const GenerateOptions& options, DecoderSizes own, bool biases) {
  DecoderSizes sizes = options.sizes;
  if (sizes.feed_forward == 0) sizes.feed_forward = 4 * sizes.hidden;
  if (sizes.kv_heads == 0) sizes.kv_heads = sizes.heads;
  if (sizes.vocabulary == 0) sizes.vocabulary = own.vocabulary;
  sizes.positions = sizes.positions.value_or(*own.positions);
  sizes.tied = sizes.tied.value_or(true);
  if (sizes.positions == PositionKind::kRotary) {
    return UsageError(StrCat(family, " has --positions learned or alibi; rope is given to llama"));
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    return UsageError(StrCat("--heads ", sizes.heads, " is no multiple of --kv-heads ", sizes.kv_heads));
  }
  if (sizes.hidden % sizes.heads != 0) {
    return UsageError(StrCat("--hidden ", sizes.hidden, " does not divide into --heads ", sizes.heads));
  }
  SBP_RETURN_IF_ERROR(CheckSizes(sizes));
  GraphBuilder builder(family);
  SBP_RETURN_IF_ERROR(GptWriter(builder, sizes, biases).Write(options));
  return builder.Build("generate " + family);
}

}  // namespace

Result<Graph> GenerateGpt(const GenerateOptions& options) {
  return Generate("gpt", options, {.vocabulary = 51200, .positions = PositionKind::kLearned}, true);
}

Result<Graph> GenerateMpt(const GenerateOptions& options) {
  return Generate("mpt", options, {.vocabulary = 50368, .positions = PositionKind::kAlibi}, false);
}

}  // namespace sbp
