#include "naming/roles.h"

#include <algorithm>
#include <array>

namespace sbp {
namespace {

struct RoleRow {
  std::string_view type;
  std::array<std::string_view, 9> roles = {};  // by operand
};

constexpr std::string_view kWeight = "weight", kBias = "bias", kScale = "scale", kZero = "zero_point";

constexpr RoleRow kRows[] = {
    // products
    {"MatMul", {kWeight, kWeight}},
    {"Gemm", {kWeight, kWeight, kBias}},
    {"Einsum", {kWeight, kWeight, kWeight}},
    {"FusedMatMul", {kWeight, kWeight}},
    {"MatMulInteger", {kWeight, kWeight, "input_zero_point", kZero}},
    {"QLinearMatMul", {"", "input_scale", "input_zero_point", kWeight, kScale, kZero}},
    {"DynamicQuantizeMatMul", {"", kWeight, kScale, kZero, kBias}},
    {"MatMulIntegerToFloat", {"", kWeight, "input_scale", kScale, "input_zero_point", kZero, kBias}},
    {"MatMulNBits", {"", kWeight, kScale, kZero, "g_idx", kBias}},
    {"MatMulBnb4", {"", kWeight, kScale}},
    // convolutions
    {"Conv", {"", kWeight, kBias}},
    {"ConvTranspose", {"", kWeight, kBias}},
    {"DeformConv", {"", kWeight, "", kBias}},
    {"FusedConv", {"", kWeight, kBias}},
    {"NhwcConv", {"", kWeight, kBias}},
    {"ConvInteger", {"", kWeight, "input_zero_point", kZero}},
    {"QLinearConv",
     {"", "input_scale", "input_zero_point", kWeight, kScale, kZero, "output_scale", "output_zero_point", kBias}},
    // recurrent layers
    {"LSTM", {"", kWeight, "recurrence_weight", kBias, "", "initial_h", "initial_c", "peephole_weight"}},
    {"GRU", {"", kWeight, "recurrence_weight", kBias, "", "initial_h"}},
    {"RNN", {"", kWeight, "recurrence_weight", kBias, "", "initial_h"}},
    {"DynamicQuantizeLSTM", {"", kWeight, "recurrence_weight", kBias, "", "initial_h", "initial_c", "peephole_weight"}},
    // norms
    {"LayerNormalization", {"", kWeight, kBias}},
    {"RMSNormalization", {"", kWeight}},
    {"SimplifiedLayerNormalization", {"", kWeight}},
    {"SkipLayerNormalization", {"", "", kWeight, "norm_bias", kBias}},
    {"SkipSimplifiedLayerNormalization", {"", "", kWeight, kBias}},
    {"InstanceNormalization", {"", kWeight, kBias}},
    {"GroupNormalization", {"", kWeight, kBias}},
    {"GroupNorm", {"", kWeight, kBias}},
    {"BatchNormalization", {"", kWeight, kBias, "running_mean", "running_var"}},
    // attention of onnxruntime
    {"Attention", {"", kWeight, kBias}},
    {"QAttention", {"", kWeight, kBias, "input_scale", kScale, "", "input_zero_point", kZero}},
    {"MultiHeadAttention", {"", "", "", kBias}},
    {"GroupQueryAttention", {"", "", "", "", "", "", "", "cos_cache", "sin_cache"}},
    {"RotaryEmbedding", {"", "", "cos_cache", "sin_cache"}},
    {"EmbedLayerNormalization",
     {"", "", "word_embeddings", "position_embeddings", "token_type_embeddings", kWeight, kBias}},
    // mixtures of experts of onnxruntime
    {"MoE", {"", "", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias", "fc3_weight", "fc3_bias"}},
    {"QMoE", {"", "", "fc1_weight", "fc1_scale", "fc1_bias", "fc2_weight", "fc2_scale", "fc2_bias", "fc3_weight"}},
    // what is added and multiplied in spelled-out norms and linear layers
    {"Add", {kBias, kBias}},
    {"Mul", {kWeight, kWeight}},
    {"BiasGelu", {"", kBias}},
    {"BiasAdd", {"", kBias}},
    {"BiasSplitGelu", {"", kBias}},
    {"FastGelu", {"", kBias}},
    {"PRelu", {"", kWeight}},
    // tables
    {"Gather", {kWeight}},
    {"GatherND", {kWeight}},
    {"GatherElements", {kWeight}},
    {"GatherBlockQuantized", {kWeight, "", kScale, kZero}},
    // other forms of a tensor
    {"DequantizeLinear", {kWeight, kScale, kZero}},
    {"QuantizeLinear", {kWeight, kScale, kZero}},
};

constexpr std::string_view kPassing[] = {
    "Transpose",        "Cast",           "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand",
    "DequantizeLinear", "QuantizeLinear", "CastLike", "Split",   "Slice",   "Concat"};
constexpr std::string_view kIgnoring[] = {"Shape", "Size"};

// Ops as other frameworks call them in names.
constexpr std::string_view kForeignOps[] = {
    "BiasAdd", "Conv1D", "Conv2D", "AddV2", "einsum", "Tensordot", "DepthwiseConv2dNative", "FusedBatchNormV3"};

struct RoleWord {
  std::string_view word, role;
};
constexpr RoleWord kWords[] = {
    {"weight", kWeight},
    {"bias", kBias},
    {"scale", kScale},
    {"zero_point", kZero},
    {"weights", kWeight},
    {"kernel", kWeight},
    {"qweight", kWeight},
    {"w_0", kWeight},
    {"b_0", kBias},
    {"biases", kBias},
    {"offset", kBias},
    {"beta", kBias},
    {"gamma", kWeight},
    {"scales", kScale},
    {"qscales", kScale},
    {"qzeros", kZero},
    {"zero_points", kZero},
    {"zp", kZero},
    {"embedding", kWeight},
    {"embeddings", kWeight},
    {"running_mean", "running_mean"},
    {"mean", "running_mean"},
    {"moving_mean", "running_mean"},
    {"running_var", "running_var"},
    {"variance", "running_var"},
    {"moving_variance", "running_var"},
    {"w_1", "running_mean"},
    {"w_2", "running_var"},
};

}  // namespace

std::string_view Unqualified(std::string_view type) {
  const size_t at = type.rfind("::");
  return at == std::string_view::npos ? type : type.substr(at + 2);
}

std::string_view OperandRole(std::string_view type, size_t operand) {
  const auto* row = std::ranges::find(kRows, Unqualified(type), &RoleRow::type);
  return row == std::end(kRows) || operand >= row->roles.size() ? "" : row->roles[operand];
}

NamingKind NamingKindOf(std::string_view type) {
  type = Unqualified(type);
  if (std::ranges::find(kPassing, type) != std::end(kPassing)) return NamingKind::kPasses;
  if (std::ranges::find(kIgnoring, type) != std::end(kIgnoring)) return NamingKind::kIgnores;
  return NamingKind::kReader;
}

bool IsOpLike(std::string_view level) {
  return std::ranges::find(kRows, level, &RoleRow::type) != std::end(kRows) ||
         std::ranges::find(kPassing, level) != std::end(kPassing) ||
         std::ranges::find(kForeignOps, level) != std::end(kForeignOps);
}

std::string CanonicalRole(std::string_view role) {
  const auto* word = std::ranges::find(kWords, role, &RoleWord::word);
  return std::string(word == std::end(kWords) ? role : word->role);
}

bool IsRole(std::string_view word) { return std::ranges::find(kWords, word, &RoleWord::word) != std::end(kWords); }

}  // namespace sbp
