// The table of factorizers. One thing = one file in factorizers/ and one declaration and row here, sorted by name.
#include <span>
#include <string_view>

#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/structural.h"

namespace sbp {
namespace {

// name, function, one line of documentation, operands whose values it reads (bit set of positions; bit 63: all),
// whether they decide layouts alone
constexpr FactorizerRow kFactorizers[] = {
    {"affine_grid", FactorizeAffineGrid, "theta and size to a grid of positions", 0b10},
    {"arg_reduce", FactorizeArgReduce, "an index along `axis`; the dimension stays whole", 0},
    {"at_most", FactorizeAtMost, "at most the operand's elements; nothing is split", 0},
    {"attention", FactorizeAttention, "batch, whole key/value heads, query positions, value elements", 0},
    {"batch_normalised", FactorizeBatchNormalised, "channels; in training no other dimension", 0},
    {"block_quantized_matmul", FactorizeBlockQuantizedMatMul, "a product with weights quantised in blocks of k", 0},
    {"broadcast", FactorizeBroadcast, "(operands): these broadcast, others stay whole", 0, false, true},
    {"cast", FactorizeCast, "element by element; sums and orders pass where the types allow", 0},
    {"center_crop_pad", FactorizeCenterCropPad, "dimensions that change size stay whole", 0b10},
    {"channel_normalised", FactorizeChannelNormalised, "batch, and channels by whole groups", 0},
    {"class_loss", FactorizeClassLoss, "scores [n, classes, ...] and class indices; reduced as the attribute says", 0},
    {"clip", FactorizeClip, "x with a lower and an upper bound", 0},
    {"col2im", FactorizeCol2Im, "n (c k) l -> n c image; l reduces", 0b110},
    {"compress", FactorizeCompress, "all dimensions but `axis`; its size at the bound", 0b10},
    {"concat", FactorizeConcat, "all dimensions but `axis`", 0},
    {"constant", FactorizeConstant, "the value's shape", 0},
    {"constant_of_shape", FactorizeConstantOfShape, "each rank fills its own part", 0b1},
    {"conv", FactorizeConv,
     "(\"conv\" | \"integer\" | \"quantized\"): n (g c) spatial, (g o) c kernel -> n (g o) spatial", 0},
    {"conv_transpose", FactorizeConvTranspose, "n (g c) spatial, (g c) o kernel -> n (g o) spatial", 0},
    {"deform_conv", FactorizeDeformConv, "a convolution whose input's spatial dimensions stay whole", 0},
    {"dequantize", FactorizeDequantize, "x with a scale for the tensor, a slice or a block", 0},
    {"dropout", FactorizeDropout, "element by element, each by its own draw", 0},
    {"dynamic_quantized_matmul", FactorizeDynamicQuantizedMatMul, "a product whose first operand is seen whole", 0},
    {"dynamic_recurrent", FactorizeDynamicRecurrent, "direction; operands are quantised whole", 0},
    {"einsum", FactorizeEinsum, "the letters of `equation`", 0},
    {"embed_normalised", FactorizeEmbedNormalised,
     "([\"quantized\"]): embeddings by id, summed and normalised: batch and positions split", 0},
    {"expand", FactorizeExpand, "broadcasts to a shape; new dimensions are made in parts", 0b10},
    {"experts", FactorizeExperts, "([\"quantized\"]): rows, experts (masked), and their inner width", 0},
    {"flatten", FactorizeFlatten, "two compound dimensions", 0},
    {"fold", FactorizeFold, "all operands broadcast and fold by sum, mean, max or min", 0},
    {"fourier", FactorizeFourier, "all dimensions but the transformed axis and the last", 0b110},
    {"frames", FactorizeFrames, "the batch; frames overlap", 0b1010},
    {"fused_attention", FactorizeFusedAttention, "([\"quantized\"]): onnxruntime's attention with its projection", 0},
    {"fused_conv", FactorizeFusedConv, "a convolution, an addend and an activation", 0},
    {"gather", FactorizeGather, "data at indices along `axis`, masked", 0},
    {"gather_elements", FactorizeGatherElements, "elements at indices along `axis`, masked", 0},
    {"gather_nd", FactorizeGatherND, "slices at positions, masked", 0},
    {"gemm", FactorizeGemm, "([form]): m k, k n, m n -> m n, transposed on demand", 0},
    {"global_pool", FactorizeGlobalPool, "(\"average\" | \"max\" | \"lp\" | \"quantized\"): spatial dimensions reduce",
     0},
    {"gradient", FactorizeGradient, "results shaped like the first operands; nothing is split", 0},
    {"group_query_attention", FactorizeGroupQueryAttention, "onnxruntime's causal attention with a cache", 1 << 6},
    {"keep_whole", FactorizeKeepWhole, "the operand's shape; the axes given are not split", 0},
    {"keep_whole_from", FactorizeKeepWholeFrom, "the operand's shape; the axis and all behind it are not split", 0},
    {"keep_whole_operand_axis", FactorizeKeepWholeOperandAxis, "all dimensions but the one that operand 1 names", 0b10},
    {"like", FactorizeLike, "the shape of operand 0, made in parts", 0},
    {"max_unpool", FactorizeMaxUnpool, "batch and channels", 0b100},
    {"mel_weight_matrix", FactorizeMelWeightMatrix, "made in parts", 0b11},
    {"multi_head_attention", FactorizeMultiHeadAttention, "onnxruntime's attention on projected operands", 0},
    {"multinomial", FactorizeMultinomial, "rows and samples, not the classes", 0},
    {"ngrams", FactorizeNgrams, "a count for each listed n-gram; rows split", 0},
    {"non_max_suppression", FactorizeNonMaxSuppression, "whole; the number of boxes at the bound", 0b100},
    {"nonzero", FactorizeNonZero, "whole; the number of positions at the bound", 0b1},
    {"normalised", FactorizeNormalised, "the dimensions from `axis` on are not split; statistics have 1 there", 0},
    {"one_hot", FactorizeOneHot, "indices, and a new dimension made in parts", 0b10},
    {"optional", FactorizeOptional, "optionals, by what the op does with them", 0},
    {"pad", FactorizePad, "dimensions that are padded stay whole", 0b1110},
    {"pool", FactorizePool, "(\"average\" | \"max\" | \"lp\" | \"quantized\"): n c spatial, with a halo", 0},
    {"power", FactorizePower, "x^y by what is known of the exponent or the base", 0b11, true},
    {"product", FactorizeProduct, "a b; a factor of known sign keeps or turns over the order of values", 0b11, true},
    {"quantize", FactorizeQuantize, "x with a scale for the tensor, a slice or a block", 0b10, true},
    {"quantized_concat", FactorizeQuantizedConcat, "as concat, each tensor with its scale and zero point", 0},
    {"quantized_linear_matmul", FactorizeQuantizedLinearMatMul, "a product quantised again: k is not split", 0},
    {"quantized_matmul", FactorizeQuantizedMatMul,
     "(operands): a product with scales and zero points by row and column in turn", 0, false, true},
    {"quotient", FactorizeQuotient, "a / b; linear in a unless integers are cut off", 0b10, true},
    {"random", FactorizeRandom, "made in parts", 0},
    {"range", FactorizeRange, "made in parts", 0b111},
    {"recurrent", FactorizeRecurrent, "batch and direction; the argument is the number of gates", 0},
    {"reduce", FactorizeReduce, "(\"sum\" | \"mean\" | \"max\" | ...): the reduced dimensions combine, where they can",
     0b10},
    {"reshape", FactorizeReshape, "common compound dimensions of two shapes", 0b10},
    {"resize", FactorizeResize, "repeated dimensions split, mixed ones with a halo", 0b1110},
    {"reverse_sequence", FactorizeReverseSequence, "all dimensions but `time_axis`", 0},
    {"roi", FactorizeRoi, "regions and channels; the batch is masked", 0},
    {"rotary", FactorizeRotary, "batch, heads, positions; a head stays whole", 0},
    {"rotary_cached", FactorizeRotaryCached, "as rotary, with onnxruntime's tables by position", 0},
    {"scatter_elements", FactorizeScatterElements, "updates at indices along `axis`, masked", 0},
    {"scatter_nd", FactorizeScatterND, "slices at positions, masked", 0},
    {"sequence", FactorizeSequence, "sequences of tensors, by what the op does with them", 0b10},
    {"shape", FactorizeShape, "whole, from the type alone", 0},
    {"size", FactorizeSize, "whole, from the type alone", 0},
    {"skip_channel_normalised", FactorizeSkipChannelNormalised, "as channel_normalised, of x + skip + bias", 0},
    {"skip_normalised", FactorizeSkipNormalised, "as normalised, of x + skip + bias", 0},
    {"slice", FactorizeSlice, "dimensions that are sliced stay whole", 0b11110},
    {"split", FactorizeSplit, "all dimensions but `axis`", 0b10},
    {"squeeze", FactorizeSqueeze, "drops dimensions of size 1", 0b10},
    {"stated", FactorizeStated, "results as the model states them; nothing is split", 0},
    {"string_split", FactorizeStringSplit, "parts of strings and their numbers; nothing is split", 0},
    {"tensor_scatter", FactorizeTensorScatter, "a cache with entries written along `axis`, masked", 0},
    {"tile", FactorizeTile, "a repeated dimension is (copies, elements)", 0b10},
    {"top_k", FactorizeTopK, "all dimensions but `axis`", 0b10},
    {"transpose", FactorizeTranspose, "dimensions in the order of `perm`", 0},
    {"transposed_matmul", FactorizeTransposedMatMul, "a product by transA, transB, transBatchA, transBatchB", 0},
    {"unique", FactorizeUnique, "whole; the number of elements at the bound", 0},
    {"unsqueeze", FactorizeUnsqueeze, "adds dimensions of size 1", 0b10},
    {"update", FactorizeUpdate, "an optimizer step: each tensor with factors of its own", 0},
    {"upsample", FactorizeUpsample, "the old form of resize", 0b10},
    {"where", FactorizeWhere, "a branch known to be zero adds nothing to a sum of the other", 0b110, true},
    {"window_function", FactorizeWindowFunction, "made in parts", 0b1},
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
