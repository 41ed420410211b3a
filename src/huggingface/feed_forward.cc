// What follows attention in a layer: a gated MLP, or experts that a router chooses among.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "huggingface/decoder.h"
#include "huggingface/module_writer.h"

namespace sbp::huggingface {
namespace {

std::string Gated(const Decoder& decoder, const std::string& gate, const std::string& up, ModuleWriter& writer) {
  const std::string active = WriteActivation(decoder.activation, gate, writer);
  return writer.Op("Mul", "gated", {active, up});
}

struct Choice {
  std::string weights, experts;  // (tokens, top_k)
};

// The top_k largest along the last dimension: values, and their places.
std::vector<std::string> Largest(std::string_view name, const std::string& x, int64_t count, ModuleWriter& writer) {
  return writer.Ops("TopK", name, {x, writer.Ints({count})}, 2);
}

std::string OverTheirSum(const std::string& x, double least, ModuleWriter& writer) {
  std::string total = writer.Op("ReduceSum", "total", {x, writer.Ints({-1})}, {{"keepdims", int64_t{1}}});
  if (least != 0) total = writer.Op("Add", "total_above_zero", {total, writer.Number(least, DType::kF32)});
  return writer.Op("Div", "normalised", {x, total});
}

Choice ChooseBySoftmax(const Router& router, const std::string& x, int64_t hidden, ModuleWriter& writer) {
  const std::string weight = writer.Transposed("t", writer.Parameter("weight", {router.experts, hidden}), {1, 0});
  std::string logits = writer.Op("MatMul", "linear", {x, weight});
  if (writer.dtype() != DType::kF32) logits = writer.CastTo("float", logits, DType::kF32);
  const std::string shares = writer.Op("Softmax", "softmax", {logits}, {{"axis", int64_t{-1}}});
  const std::vector<std::string> top = Largest("top_k", shares, router.top_k, writer);
  std::string weights = router.normalised ? OverTheirSum(top[0], 0, writer) : top[0];
  if (!router.wide && writer.dtype() != DType::kF32) weights = writer.CastTo("cast", weights, writer.dtype());
  return {weights, top[1]};
}

// The scores of experts outside the best groups, which are judged by the sum of their two best, become -inf.
std::string OfBestGroups(const Router& router, const std::string& scores, ModuleWriter& writer) {
  const int64_t size = router.experts / router.groups;
  const std::string apart = writer.Reshaped("groups", scores, {-1, router.groups, size});
  const std::string two = Largest("group_best", apart, 2, writer)[0];
  const std::string sums = writer.Op("ReduceSum", "group_scores", {two, writer.Ints({-1})}, {{"keepdims", int64_t{0}}});
  const std::string best = Largest("group_top_k", sums, router.kept, writer)[1];
  // (tokens, groups): how often each was taken, 0 or 1.
  const std::string marks =
      writer.Op("Equal", "group_is",
                {writer.Op("Unsqueeze", "group_apart", {best, writer.Ints({-1})}),
                 writer.Op("Range", "group_numbers", {writer.Int(0), writer.Int(router.groups), writer.Int(1)})});
  const std::string counted =
      writer.Op("ReduceSum", "group_mask", {writer.CastTo("group_marks", marks, DType::kF32), writer.Ints({1})},
                {{"keepdims", int64_t{0}}});
  const std::string taken = writer.CastTo("group_taken", counted, DType::kBool);
  const std::string kept = writer.Op("Where", "masked_fill",
                                     {writer.Op("Unsqueeze", "score_mask", {taken, writer.Ints({-1})}), apart,
                                      writer.Number(-std::numeric_limits<double>::infinity(), DType::kF32)});
  return writer.Reshaped("scores_kept", kept, {-1, router.experts});
}

Choice ChooseBySigmoid(const Router& router, const std::string& given, int64_t hidden, ModuleWriter& writer) {
  const bool is_narrow = writer.dtype() != DType::kF32;
  std::string weight = writer.Parameter("weight", {router.experts, hidden});
  if (is_narrow) weight = writer.CastTo("weight_float", weight, DType::kF32);
  const std::string x = is_narrow ? writer.CastTo("float", given, DType::kF32) : given;
  const std::string logits = writer.Op("MatMul", "linear", {x, writer.Transposed("t", weight, {1, 0})});
  const std::string scores = writer.Op("Sigmoid", "sigmoid", {logits});
  const std::string bias = writer.Parameter("e_score_correction_bias", {router.experts}, DType::kF32);
  std::string judged = writer.Op("Add", "scores_for_choice", {scores, bias});
  if (router.groups > router.kept) judged = OfBestGroups(router, judged, writer);
  const std::string experts = Largest("top_k", judged, router.top_k, writer)[1];
  std::string weights = writer.Op("GatherElements", "weights", {scores, experts}, {{"axis", int64_t{1}}});
  if (router.normalised) weights = OverTheirSum(weights, 1e-20, writer);
  if (router.scale != 1) weights = writer.Op("Mul", "scaled", {weights, writer.Number(router.scale, DType::kF32)});
  return {weights, experts};
}

// Each token's row once for each of its experts; `x` and the result are (tokens, hidden).
std::string WriteRouted(const Decoder& decoder, const std::string& x, const Choice& choice, ModuleWriter& writer) {
  const Experts& experts = *decoder.experts;
  const int64_t count = experts.router.experts, top_k = experts.router.top_k, hidden = decoder.hidden;
  const AttributeList turned = {{"transB", int64_t{1}}};
  const std::string apart = writer.Op("Unsqueeze", "apart", {x, writer.Ints({1})});
  const std::string copies = writer.Op("Expand", "copies", {apart, writer.Ints({1, top_k, 1})});
  const std::string rows = writer.Reshaped("rows", copies, {-1, hidden});
  const std::string expert = writer.Reshaped("expert_ids", choice.experts, {-1});
  const std::string both =
      writer.Op("sbp::GroupedMatMul", "gate_up_proj",
                {rows, writer.Parameter("gate_up_proj", {count, 2 * experts.width, hidden}), expert}, turned);
  const std::vector<std::string> parts =
      writer.Ops("Split", "chunk", {both, writer.Ints({experts.width, experts.width})}, 2, {{"axis", int64_t{-1}}});
  std::string made = writer.Op("sbp::GroupedMatMul", "down_proj",
                               {Gated(decoder, parts[0], parts[1], writer),
                                writer.Parameter("down_proj", {count, hidden, experts.width}), expert},
                               turned);
  const bool widens = experts.router.wide && writer.dtype() != DType::kF32;
  if (widens) made = writer.CastTo("float", made, DType::kF32);
  const std::string weights =
      writer.Op("Unsqueeze", "weights_apart", {writer.Reshaped("weights", choice.weights, {-1}), writer.Ints({1})});
  const std::string weighted =
      writer.Reshaped("weighted_view", writer.Op("Mul", "weighted", {made, weights}), {-1, top_k, hidden});
  const std::string sum = writer.Op("ReduceSum", "sum", {weighted, writer.Ints({1})}, {{"keepdims", int64_t{0}}});
  return widens ? writer.CastTo("cast", sum, writer.dtype()) : sum;
}

}  // namespace

std::string WriteMlp(const Decoder& decoder, const std::string& x, int64_t width, ModuleWriter& writer) {
  if (decoder.fused) {
    const std::string both = writer.Linear("gate_up_proj", x, decoder.hidden, 2 * width, decoder.mlp_bias);
    const std::vector<std::string> parts =
        writer.Ops("Split", "chunk", {both, writer.Ints({width, width})}, 2, {{"axis", int64_t{-1}}});
    return writer.Linear("down_proj", Gated(decoder, parts[0], parts[1], writer), width, decoder.hidden,
                         decoder.mlp_bias);
  }
  const std::string gate = writer.Linear("gate_proj", x, decoder.hidden, width, decoder.mlp_bias);
  const std::string up = writer.Linear("up_proj", x, decoder.hidden, width, decoder.mlp_bias);
  return writer.Linear("down_proj", Gated(decoder, gate, up, writer), width, decoder.hidden, decoder.mlp_bias);
}

std::string WriteExperts(const Decoder& decoder, const std::string& x, ModuleWriter& writer) {
  const std::string scope = writer.scope();
  const Router& router = decoder.experts->router;
  const std::string tokens = writer.Reshaped("tokens", x, {-1, decoder.hidden});
  writer.Enter(scope + "/gate");
  const Choice choice = router.kind == Router::Kind::kSoftmax ? ChooseBySoftmax(router, tokens, decoder.hidden, writer)
                                                              : ChooseBySigmoid(router, tokens, decoder.hidden, writer);
  writer.Enter(scope + "/experts");
  const std::string routed = WriteRouted(decoder, tokens, choice, writer);
  writer.Enter(scope);
  const std::string sum = writer.Op("Reshape", "output_view", {routed, writer.Op("Shape", "sizes", {x})});
  if (decoder.experts->shared_width == 0) return sum;
  writer.Enter(scope + "/shared_experts");
  const std::string shared = WriteMlp(decoder, x, decoder.experts->shared_width, writer);
  writer.Enter(scope);
  return writer.Op("Add", "with_shared", {sum, shared});
}

}  // namespace sbp::huggingface
