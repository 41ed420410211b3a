// The table of factorizers. One thing = one file in factorizers/ and one declaration and row here, sorted by name.
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"

namespace sbp {
namespace {

// name, function, one line of documentation, operands whose values it reads (bit set of positions; bit 63: all)
constexpr FactorizerRow kFactorizers[] = {
    {"at_most", FactorizeAtMost, "at most the operand's elements; nothing is split", 0},
    {"attention", FactorizeAttention, "batch, whole key/value heads, query positions, value elements", 0},
    {"batch_normalised", FactorizeBatchNormalised, "channels; in training no other dimension", 0},
    {"block_quantized_matmul", FactorizeBlockQuantizedMatMul, "a product with weights quantised in blocks of k", 0},
    {"broadcast", FactorizeBroadcast, "the operands at these positions broadcast, others stay whole", 0},
    {"channel_normalised", FactorizeChannelNormalised, "batch, and channels by whole groups", 0},
    {"class_loss", FactorizeClassLoss, "scores [n, classes, ...] and class indices; reduced as the attribute says", 0},
    {"clip", FactorizeClip, "x with a lower and an upper bound", 0},
    {"dequantize", FactorizeDequantize, "x with a scale for the tensor, a slice or a block", 0},
    {"dynamic_quantized_matmul", FactorizeDynamicQuantizedMatMul, "a product whose first operand is seen whole", 0},
    {"dynamic_recurrent", FactorizeDynamicRecurrent, "direction; operands are quantised whole", 0},
    {"embed_normalised", FactorizeEmbedNormalised, "embeddings by id, summed and normalised: batch and positions split", 0},
    {"experts", FactorizeExperts, "rows, experts (masked), and their inner width", 0},
    {"fold", FactorizeFold, "all operands broadcast and fold by sum, mean, max or min", 0},
    {"fourier", FactorizeFourier, "all dimensions but the transformed axis and the last", 0b110},
    {"frames", FactorizeFrames, "the batch; frames overlap", 0b1010},
    {"fused_attention", FactorizeFusedAttention, "onnxruntime's attention with its projection", 0},
    {"gradient", FactorizeGradient, "results shaped like the first operands; nothing is split", 0},
    {"group_query_attention", FactorizeGroupQueryAttention, "onnxruntime's causal attention with a cache", 1 << 6},
    {"keep_whole", FactorizeKeepWhole, "the operand's shape; the axes given are not split", 0},
    {"multi_head_attention", FactorizeMultiHeadAttention, "onnxruntime's attention on projected operands", 0},
    {"ngrams", FactorizeNgrams, "a count for each listed n-gram; rows split", 0},
    {"normalised", FactorizeNormalised, "the dimensions from `axis` on are not split; statistics have 1 there", 0},
    {"optional", FactorizeOptional, "optionals, by what the op does with them", 0},
    {"power", FactorizePower, "x^y by what is known of the exponent or the base", 0b11},
    {"product", FactorizeProduct, "a b; a factor of known sign keeps or turns over the order of values", 0b11},
    {"quantize", FactorizeQuantize, "x with a scale for the tensor, a slice or a block", 0b10},
    {"quantized_linear_matmul", FactorizeQuantizedLinearMatMul, "a product quantised again: k is not split", 0},
    {"quantized_matmul", FactorizeQuantizedMatMul, "a product with scales and zero points by row and column in turn", 0},
    {"quotient", FactorizeQuotient, "a / b; linear in a unless integers are cut off", 0b10},
    {"recurrent", FactorizeRecurrent, "batch and direction; the argument is the number of gates", 0},
    {"rotary", FactorizeRotary, "batch, heads, positions; a head stays whole", 0},
    {"rotary_cached", FactorizeRotaryCached, "as rotary, with onnxruntime's tables by position", 0},
    {"sequence", FactorizeSequence, "sequences of tensors, by what the op does with them", 0b10},
    {"skip_channel_normalised", FactorizeSkipChannelNormalised, "as channel_normalised, of x + skip + bias", 0},
    {"skip_normalised", FactorizeSkipNormalised, "as normalised, of x + skip + bias", 0},
    {"stated", FactorizeStated, "results as the model states them; nothing is split", 0},
    {"string_split", FactorizeStringSplit, "parts of strings and their numbers; nothing is split", 0},
    {"transposed_matmul", FactorizeTransposedMatMul, "a product by transA, transB, transBatchA, transBatchB", 0},
    {"update", FactorizeUpdate, "an optimizer step: each tensor with factors of its own", 0},
};

}  // namespace

std::span<const FactorizerRow> AllFactorizers() { return kFactorizers; }

const FactorizerRow* FindFactorizer(std::string_view name) {
  for (const FactorizerRow& row : AllFactorizers()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace sbp
