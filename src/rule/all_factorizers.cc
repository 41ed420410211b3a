// The table of factorizers. One thing = one file in factorizers/ and one declaration and row here, sorted by name.
#include <span>
#include <string_view>

#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/structural.h"

namespace sbp {
namespace {

// name, function, operands, values, one line of documentation, for_layouts, takes_operands
constexpr FactorizerRow kFactorizers[] = {
    {"affine_grid", FactorizeAffineGrid, "theta size", "size", "theta and size to a grid of positions"},
    {"arg_reduce", FactorizeArgReduce, "data", "", "an index along `axis`; the dimension stays whole"},
    {"at_most", FactorizeAtMost, "", "", "at most the operand's elements; nothing is split"},
    {"attention", FactorizeAttention, "", "", "batch, whole key/value heads, query positions, value elements"},
    {"batch_normalised", FactorizeBatchNormalised, "", "", "channels; in training no other dimension"},
    {"block_quantized_matmul", FactorizeBlockQuantizedMatMul, "", "",
     "a product with weights quantised in blocks of k"},
    {"broadcast", FactorizeBroadcast, "", "", "(operands): these broadcast, others stay whole", false, true},
    {"cast", FactorizeCast, "input", "", "element by element; sums and orders pass where the types allow"},
    {"center_crop_pad", FactorizeCenterCropPad, "input_data shape", "shape", "dimensions that change size stay whole"},
    {"channel_normalised", FactorizeChannelNormalised, "", "", "batch, and channels by whole groups"},
    {"class_loss", FactorizeClassLoss, "", "",
     "scores [n, classes, ...] and class indices; reduced as the attribute says"},
    {"clip", FactorizeClip, "", "", "x with a lower and an upper bound"},
    {"col2im", FactorizeCol2Im, "input image_shape block_shape", "image_shape block_shape",
     "n (c k) l -> n c image; l reduces"},
    {"compress", FactorizeCompress, "input condition", "condition", "all dimensions but `axis`; its size at the bound"},
    {"concat", FactorizeConcat, "", "", "all dimensions but `axis`"},
    {"constant", FactorizeConstant, "", "", "the value's shape"},
    {"constant_of_shape", FactorizeConstantOfShape, "input", "input", "each rank fills its own part"},
    {"conv", FactorizeConv, "X W", "", "n (g c) spatial, (g o) c kernel -> n (g o) spatial"},
    {"conv_transpose", FactorizeConvTranspose, "X W", "", "n (g c) spatial, (g c) o kernel -> n (g o) spatial"},
    {"deform_conv", FactorizeDeformConv, "X W offset", "", "a convolution whose input's spatial dimensions stay whole"},
    {"dequantize", FactorizeDequantize, "", "", "(x, scale, zero point): a scale for the tensor, a slice or a block"},
    {"dropout", FactorizeDropout, "data", "", "element by element, each by its own draw"},
    {"dynamic_recurrent", FactorizeDynamicRecurrent, "", "", "direction; operands are quantised whole"},
    {"einsum", FactorizeEinsum, "", "", "the letters of `equation`"},
    {"embed_normalised", FactorizeEmbedNormalised, "", "",
     "([\"quantized\"]): embeddings by id, summed and normalised: batch and positions split"},
    {"expand", FactorizeExpand, "input shape", "shape", "broadcasts to a shape; new dimensions are made in parts"},
    {"experts", FactorizeExperts, "", "", "([\"quantized\"]): rows, experts (masked), and their inner width"},
    {"flatten", FactorizeFlatten, "input", "", "two compound dimensions"},
    {"fold", FactorizeFold, "", "", "all operands broadcast and fold by sum, mean, max or min"},
    {"fourier", FactorizeFourier, "input", "dft_length axis", "all dimensions but the transformed axis and the last"},
    {"frames", FactorizeFrames, "signal frame_step", "frame_step frame_length", "the batch; frames overlap"},
    {"fused_attention", FactorizeFusedAttention, "", "",
     "([\"quantized\"]): onnxruntime's attention with its projection"},
    {"gather", FactorizeGather, "data indices", "", "data at indices along `axis`, masked"},
    {"gather_elements", FactorizeGatherElements, "data indices", "", "elements at indices along `axis`, masked"},
    {"gather_nd", FactorizeGatherND, "data indices", "", "slices at positions, masked"},
    {"gemm", FactorizeGemm, "a b", "", "([\"rounded\"]): m k, k n, m n -> m n, transposed on demand"},
    {"global_pool", FactorizeGlobalPool, "X", "",
     "(\"average\" | \"max\" | \"lp\" | \"quantized\"): spatial dimensions reduce"},
    {"gradient", FactorizeGradient, "", "", "results shaped like the first operands; nothing is split"},
    {"group_query_attention", FactorizeGroupQueryAttention, "", "total_sequence_length",
     "onnxruntime's causal attention with a cache"},
    {"keep_whole", FactorizeKeepWhole, "", "", "the operand's shape; the axes given are not split"},
    {"keep_whole_from", FactorizeKeepWholeFrom, "", "",
     "the operand's shape; the axis and all behind it are not split"},
    {"keep_whole_operand_axis", FactorizeKeepWholeOperandAxis, "x axis", "axis",
     "all dimensions but the one that the operand `axis` names"},
    {"like", FactorizeLike, "", "", "the shape of the first operand, made in parts"},
    {"max_unpool", FactorizeMaxUnpool, "X I", "output_shape", "batch and channels"},
    {"mel_weight_matrix", FactorizeMelWeightMatrix, "num_mel_bins dft_length", "num_mel_bins dft_length",
     "made in parts"},
    {"multi_head_attention", FactorizeMultiHeadAttention, "", "", "onnxruntime's attention on projected operands"},
    {"multinomial", FactorizeMultinomial, "input", "", "rows and samples, not the classes"},
    {"ngrams", FactorizeNgrams, "", "", "a count for each listed n-gram; rows split"},
    {"non_max_suppression", FactorizeNonMaxSuppression, "boxes scores", "max_output_boxes_per_class",
     "whole; the number of boxes at the bound"},
    {"nonzero", FactorizeNonZero, "X", "X", "whole; the number of positions at the bound"},
    {"normalised", FactorizeNormalised, "", "", "the dimensions from `axis` on are not split; statistics have 1 there"},
    {"one_hot", FactorizeOneHot, "indices depth", "depth", "indices, and a new dimension made in parts"},
    {"optional", FactorizeOptional, "", "", "optionals, by what the op does with them"},
    {"pad", FactorizePad, "data pads", "pads constant_value axes", "dimensions that are padded stay whole"},
    {"pool", FactorizePool, "X", "", "(\"average\" | \"max\" | \"lp\" | \"quantized\"): n c spatial, with a halo"},
    {"power", FactorizePower, "", "x exponent", "x^y by what is known of the exponent or the base", true},
    {"product", FactorizeProduct, "", "x y", "a b; a factor of known sign keeps or turns over the order of values",
     true},
    {"quantize", FactorizeQuantize, "", "y_scale", "(x, scale, zero point): a scale for the tensor, a slice or a block",
     true},
    {"quantized_concat", FactorizeQuantizedConcat, "inputs[]", "",
     "as concat, each tensor with its scale and zero point"},
    {"quotient", FactorizeQuotient, "", "y", "a / b; linear in a unless integers are cut off", true},
    {"random", FactorizeRandom, "", "", "made in parts"},
    {"range", FactorizeRange, "start limit delta", "start limit delta", "made in parts"},
    {"recurrent", FactorizeRecurrent, "", "", "batch and direction; the argument is the number of gates"},
    {"reduce", FactorizeReduce, "data", "axes",
     "(\"sum\" | \"mean\" | \"max\" | ...): the reduced dimensions combine, where they can"},
    {"reshape", FactorizeReshape, "data shape", "shape", "common compound dimensions of two shapes"},
    {"resize", FactorizeResize, "", "roi scales sizes", "repeated dimensions split, mixed ones with a halo"},
    {"reverse_sequence", FactorizeReverseSequence, "input sequence_lens", "", "all dimensions but `time_axis`"},
    {"roi", FactorizeRoi, "", "", "regions and channels; the batch is masked"},
    {"rotary", FactorizeRotary, "", "", "batch, heads, positions; a head stays whole"},
    {"rotary_cached", FactorizeRotaryCached, "", "", "as rotary, with onnxruntime's tables by position"},
    {"scatter_elements", FactorizeScatterElements, "data indices updates", "",
     "updates at indices along `axis`, masked"},
    {"scatter_nd", FactorizeScatterND, "data indices updates", "", "slices at positions, masked"},
    {"sequence", FactorizeSequence, "", "position split", "sequences of tensors, by what the op does with them"},
    {"shape", FactorizeShape, "data", "", "whole, from the type alone"},
    {"size", FactorizeSize, "data", "", "whole, from the type alone"},
    {"skip_channel_normalised", FactorizeSkipChannelNormalised, "", "", "as channel_normalised, of x + skip + bias"},
    {"skip_normalised", FactorizeSkipNormalised, "", "", "as normalised, of x + skip + bias"},
    {"slice", FactorizeSlice, "data starts ends", "starts ends axes steps", "dimensions that are sliced stay whole"},
    {"split", FactorizeSplit, "input", "split", "all dimensions but `axis`"},
    {"squeeze", FactorizeSqueeze, "data", "axes", "drops dimensions of size 1"},
    {"stated", FactorizeStated, "", "", "results as the model states them; nothing is split"},
    {"string_split", FactorizeStringSplit, "", "", "parts of strings and their numbers; nothing is split"},
    {"tensor_scatter", FactorizeTensorScatter, "past_cache update", "",
     "a cache with entries written along `axis`, masked"},
    {"tile", FactorizeTile, "input repeats", "repeats", "a repeated dimension is (copies, elements)"},
    {"top_k", FactorizeTopK, "X K", "K", "all dimensions but `axis`"},
    {"transpose", FactorizeTranspose, "data", "", "dimensions in the order of `perm`"},
    {"transposed_matmul", FactorizeTransposedMatMul, "A B", "",
     "a product by transA, transB, transBatchA, transBatchB"},
    {"unique", FactorizeUnique, "X", "", "whole; the number of elements at the bound"},
    {"unsqueeze", FactorizeUnsqueeze, "data axes", "axes", "adds dimensions of size 1"},
    {"update", FactorizeUpdate, "", "", "an optimizer step: each tensor with factors of its own"},
    {"upsample", FactorizeUpsample, "", "scales", "the old form of resize"},
    {"where", FactorizeWhere, "", "X Y", "a branch known to be zero adds nothing to a sum of the other", true},
    {"window_function", FactorizeWindowFunction, "size", "size", "made in parts"},
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
