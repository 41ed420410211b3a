#include "generate/generate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/cancelled.h"
#include "base/dtype.h"
#include "base/text.h"
#include "generate/gpt.h"
#include "generate/layer_writer.h"
#include "generate/layout_problem.h"
#include "generate/llama.h"
#include "graph/builder.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr int64_t kBatch = 8, kSequence = 1024, kHidden = 1024, kHeads = 16;

Attributes Permutation(std::vector<int64_t> perm) {
  Attributes attributes;
  attributes.Set("perm", std::move(perm));
  return attributes;
}

Attributes Axis(int64_t axis) {
  Attributes attributes;
  attributes.Set("axis", axis);
  return attributes;
}

// Heads of one projection: (batch, seq, hidden) -> (batch, head, seq, size), or keys transposed.
std::string Heads(LayerWriter& w, const std::string& name, const std::string& x, bool transposed) {
  const int64_t size = kHidden / kHeads;
  const std::string weight = w.Weight(name + ".weight", {kHidden, kHidden});
  const std::string projected = w.Op("MatMul", name, {x, weight}, {kBatch, kSequence, kHidden});
  const std::string shape = w.Ints(name + ".shape", {kBatch, kSequence, kHeads, size});
  const std::string split = w.Op("Reshape", name + "_split", {projected, shape}, {kBatch, kSequence, kHeads, size});
  return transposed
             ? w.Op("Transpose", name + "_t", {split}, {kBatch, kHeads, size, kSequence}, Permutation({0, 2, 3, 1}))
             : w.Op("Transpose", name + "_t", {split}, {kBatch, kHeads, kSequence, size}, Permutation({0, 2, 1, 3}));
}

std::string Attention(LayerWriter& w, const std::string& x) {
  const Shape hidden{kBatch, kSequence, kHidden}, scores_shape{kBatch, kHeads, kSequence, kSequence};
  const int64_t size = kHidden / kHeads;
  const std::string q = Heads(w, "q", x, false), k = Heads(w, "k", x, true), v = Heads(w, "v", x, false);
  const std::string scores = w.Op("MatMul", "scores", {q, k}, scores_shape);
  const std::string weights = w.Op("Softmax", "softmax", {scores}, scores_shape, Axis(-1));
  const std::string mixed = w.Op("MatMul", "mix", {weights, v}, {kBatch, kHeads, kSequence, size});
  const std::string back =
      w.Op("Transpose", "mix_t", {mixed}, {kBatch, kSequence, kHeads, size}, Permutation({0, 2, 1, 3}));
  const std::string merged = w.Op("Reshape", "merge", {back, w.Ints("merge.shape", hidden)}, hidden);
  return w.Op("MatMul", "out", {merged, w.Weight("out.weight", {kHidden, kHidden})}, hidden);
}

std::string Mlp(LayerWriter& w, const std::string& x) {
  const Shape wide{kBatch, kSequence, 4 * kHidden}, hidden{kBatch, kSequence, kHidden};
  const std::string up = w.Op("MatMul", "fc1", {x, w.Weight("fc1.weight", {kHidden, 4 * kHidden})}, wide);
  const std::string biased = w.Op("Add", "fc1_bias", {up, w.Weight("fc1.bias", {4 * kHidden})}, wide);
  const std::string active = w.Op("Gelu", "gelu", {biased}, wide);
  return w.Op("MatMul", "fc2", {active, w.Weight("fc2.weight", {4 * kHidden, kHidden})}, hidden);
}

std::string Norm(LayerWriter& w, const std::string& name, const std::string& x) {
  return w.Op("LayerNormalization", name,
              {x, w.Weight(name + ".weight", {kHidden}), w.Weight(name + ".bias", {kHidden})},
              {kBatch, kSequence, kHidden}, Axis(-1));
}

Result<Graph> Transformer(const GenerateOptions& options) {
  GraphBuilder builder("transformer");
  const Shape hidden{kBatch, kSequence, kHidden};
  builder.AddInput("x", {DType::kBF16, hidden});
  LayerWriter w(builder, DType::kBF16);
  std::string x = "x";
  for (int64_t layer = 0; w.count() < options.ops; ++layer) {
    SBP_RETURN_IF_ERROR(RefuseCancelled(options.cancelled));
    const std::string scope = StrCat("model/layers.", layer);
    w.EnterScope(scope + "/attention");
    const std::string attended = Attention(w, Norm(w, "norm", x));
    x = w.Op("Add", "residual", {x, attended}, hidden);
    w.EnterScope(scope + "/mlp");
    const std::string mixed = Mlp(w, Norm(w, "norm", x));
    x = w.Op("Add", "residual", {x, mixed}, hidden);
  }
  builder.AddOutput(x);
  return builder.Build("generate transformer");
}

Result<Graph> MlpChain(const GenerateOptions& options) {
  GraphBuilder builder("mlp");
  builder.AddInput("x", {DType::kBF16, {kBatch, kSequence, kHidden}});
  LayerWriter w(builder, DType::kBF16);
  std::string x = "x";
  for (int64_t layer = 0; w.count() < options.ops; ++layer) {
    SBP_RETURN_IF_ERROR(RefuseCancelled(options.cancelled));
    w.EnterScope(StrCat("layers.", layer));
    x = Mlp(w, x);
  }
  builder.AddOutput(x);
  return builder.Build("generate mlp");
}

// A random DAG of element-wise ops, matmuls, transposes and reductions over square matrices of a few sizes.
Result<Graph> RandomDag(const GenerateOptions& options) {
  GraphBuilder builder("random");
  // Not std::uniform_int_distribution: its results differ between standard libraries.
  std::mt19937_64 engine(options.seed);
  const auto pick = [&engine](uint64_t n) { return engine() % n; };
  constexpr std::array<const char*, 4> kUnary = {"Relu", "Exp", "Neg", "Tanh"};
  constexpr std::array<const char*, 4> kBinary = {"Add", "Mul", "Sub", "Max"};
  const int64_t n = std::array<int64_t, 4>{8, 12, 16, 30}[pick(4)];
  const TensorType matrix{DType::kF32, {n, n}};
  constexpr int64_t kAskedEvery = 256;  // ops
  std::vector<std::string> live;
  const uint64_t sources = 1 + pick(3);
  for (uint64_t i = 0; i < sources; ++i) {
    const std::string name = StrCat(i == 0 ? "x" : "w", i);
    if (i == 0) {
      builder.AddInput(name, matrix);
    } else {
      builder.AddParameter(name, matrix);
    }
    live.push_back(name);
  }
  // Recent results are likelier operands, so that chains, joins and long skips all occur.
  const auto operand = [&] {
    return live[live.size() - 1 - pick(std::min<uint64_t>(live.size(), pick(4) == 0 ? 64 : 4))];
  };
  for (int64_t i = 0; i < options.ops; ++i) {
    if (i % kAskedEvery == 0) SBP_RETURN_IF_ERROR(RefuseCancelled(options.cancelled));
    const std::string name = StrCat("op", i), out = StrCat("t", i);
    switch (pick(4)) {
      case 0:
        builder.AddOp(kUnary[pick(kUnary.size())], name, {operand()}, {out});
        break;
      case 1:
        builder.AddOp("MatMul", name, {operand(), operand()}, {out});
        break;
      case 2:
        builder.AddOp("Transpose", name, {operand()}, {out}, Permutation({1, 0}));
        break;
      default:
        builder.AddOp(kBinary[pick(kBinary.size())], name, {operand(), operand()}, {out});
        break;
    }
    builder.DescribeTensor(out, matrix);
    live.push_back(out);
  }
  builder.AddOutput(live.back());
  return builder.Build("generate random");
}

constexpr GeneratorRow kGenerators[] = {
    {"transformer", "decoder layers: attention and MLP, bf16, hidden 1024", Transformer},
    {"mlp", "a chain of two-layer perceptrons", MlpChain},
    {"llama", "a Llama decoder: embedding, layers of grouped-query attention and gated MLP, head", GenerateLlama, true},
    {"gpt", "a GPT decoder: layer norms and biases, learned positions, GELU, the head tied to the embedding",
     GenerateGpt, true},
    {"mpt", "an MPT decoder: gpt without biases, with ALiBi", GenerateMpt, true},
    {"moe", "llama whose MLPs are experts, some of them for each token (Mixtral)", GenerateMoe, true},
    {"random", "a random DAG over square matrices", RandomDag},
    {"iopddl-like", "a layout problem for solve: dense edges, a tight limit", nullptr, false, GenerateLayoutProblem},
};

}  // namespace

std::span<const GeneratorRow> AllGenerators() { return kGenerators; }

Result<const GeneratorRow*> FindGenerator(std::string_view family) {
  std::vector<std::string> names;
  for (const GeneratorRow& row : AllGenerators()) {
    if (row.name == family) return &row;
    names.emplace_back(row.name);
  }
  return UsageError(StrCat("no generator ", Quote(family), DidYouMean(family, names)));
}

Result<Graph> GenerateGraph(std::string_view family, const GenerateOptions& options) {
  SBP_ASSIGN_OR_RETURN(const GeneratorRow* row, FindGenerator(family));
  if (row->make == nullptr) return UsageError(StrCat(Quote(family), " makes problems, not graphs"));
  return row->make(options);
}

}  // namespace sbp
