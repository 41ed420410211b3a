#include "unit/plans/transformer.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text.h"
#include "graph/builder.h"

namespace sbp::testing {
namespace {

constexpr int64_t kBatch = 8, kTokens = 1024, kHidden = 4096, kHeads = 32, kVocab = 32000;

class TransformerBuilder {
 public:
  explicit TransformerBuilder(const TransformerOptions& options) : options_(options), builder_("transformer") {}

  Plan Build() {
    builder_.AddInput("tokens", {DType::kI64, {kBatch, kTokens}}, {});
    Parameter("embedding.weight", {kVocab, kHidden});
    Op("Gather", "model", "embed", {"embedding.weight", "tokens"}, "x", Hidden(), "(B, B), (S(0), B) -> (S(0), B)");
    std::string x = "x";
    for (int64_t layer = 0; layer < options_.layers; ++layer) x = Layer(layer, x);
    Norm("model/norm", "norm", x, "normed");
    Parameter("head.weight", {kHidden, kVocab});
    Op("MatMul", "model/head", "logits", {"normed", "head.weight"}, "logits", {DType::kF16, {kBatch, kTokens, kVocab}},
       "(S(0), B), (B, S(1)) -> (S(0), S(2))");
    builder_.AddOutput("logits");
    Result<Graph> graph = builder_.Build("transformer");
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    if (graph.ok()) plan_.graph = *std::move(graph);
    Decide();
    return std::move(plan_);
  }

 private:
  static TensorType Hidden() { return {DType::kF16, {kBatch, kTokens, kHidden}}; }

  void Parameter(const std::string& name, Shape shape) { builder_.AddParameter(name, {DType::kF16, std::move(shape)}); }

  void Op(const std::string& type, const std::string& scope, const std::string& name,
          const std::vector<std::string>& inputs, const std::string& output, TensorType result,
          const std::string& signature) {
    const std::string full = options_.scopes ? StrCat("/", scope, "/", name) : StrCat("node_", signatures_.size());
    builder_.AddOp(type, full, inputs, {output}, {}, options_.scopes ? scope : "");
    builder_.DescribeTensor(output, std::move(result));
    signatures_[full] = signature;
  }

  void Norm(const std::string& scope, const std::string& name, const std::string& x, const std::string& y) {
    Parameter(y + ".weight", {kHidden});
    Op("RMSNormalization", scope, name, {x, y + ".weight"}, y, Hidden(), "(S(0), B), (B, B) -> (S(0), B)");
  }

  std::string Layer(int64_t number, const std::string& x) {
    const std::string scope = StrCat("model/layers.", number), p = StrCat("l", number, ".");
    Norm(scope + "/input_norm", "norm", x, p + "n1");
    const TensorType heads{DType::kF16, {kBatch, kHeads, kTokens, kHidden / kHeads}};
    const std::string attn = scope + "/attn";
    for (const char* name : {"q", "k", "v"}) {
      Parameter(p + name + ".weight", {kHidden, kHidden});
      Op("MatMul", attn, StrCat(name, "_proj"), {p + "n1", p + name + ".weight"}, p + name, Hidden(),
         "(S(0), B), (B, S(1)) -> (S(0), S(2))");
      Op("SplitHeads", attn, StrCat(name, "_heads"), {p + name}, p + name + "h", heads, "(S(0), S(2)) -> (S(0), S(1))");
    }
    Op("Attention", attn, "sdpa", {p + "qh", p + "kh", p + "vh"}, p + "ctx", heads,
       "(S(0), S(1)), (S(0), S(1)), (S(0), S(1)) -> (S(0), S(1))");
    Op("MergeHeads", attn, "merge", {p + "ctx"}, p + "merged", Hidden(), "(S(0), S(1)) -> (S(0), S(2))");
    Parameter(p + "o.weight", {kHidden, kHidden});
    Op("MatMul", attn, "o_proj", {p + "merged", p + "o.weight"}, p + "attn", Hidden(),
       "(S(0), S(2)), (B, S(0)) -> (S(0), P(sum))");
    Op("Add", scope, "residual_1", {x, p + "attn"}, p + "r1", Hidden(), "(S(0), B), (S(0), B) -> (S(0), B)");
    Norm(scope + "/post_norm", "norm", p + "r1", p + "n2");
    Mlp(number, scope + "/mlp", p);
    Op("Add", scope, "residual_2", {p + "r1", p + "mlp"}, p + "r2", Hidden(), "(S(0), B), (S(0), B) -> (S(0), B)");
    return p + "r2";
  }

  void Mlp(int64_t number, const std::string& scope, const std::string& p) {
    const TensorType wide{DType::kF16, {kBatch, kTokens, 4 * kHidden}};
    const bool whole = number == options_.odd_layer;
    Parameter(p + "up.weight", {kHidden, 4 * kHidden});
    Parameter(p + "down.weight", {4 * kHidden, kHidden});
    Op("MatMul", scope, "up", {p + "n2", p + "up.weight"}, p + "up", wide,
       whole ? "(S(0), B), (B, B) -> (S(0), B)" : "(S(0), B), (B, S(1)) -> (S(0), S(2))");
    Op("Gelu", scope, "gelu", {p + "up"}, p + "act", wide,
       whole ? "(S(0), B) -> (S(0), B)" : "(S(0), S(2)) -> (S(0), S(2))");
    Op("MatMul", scope, "down", {p + "act", p + "down.weight"}, p + "mlp", Hidden(),
       whole ? "(S(0), B), (B, B) -> (S(0), B)" : "(S(0), S(2)), (B, S(0)) -> (S(0), P(sum))");
  }

  void Decide() {
    Graph& graph = plan_.graph;
    plan_.version = "0.1.0";
    plan_.model_path = "models/transformer.onnx";
    plan_.mesh = *ParseMesh("data=2,model=4");
    plan_.cluster.name = "8xH100";
    plan_.source_layouts.assign(graph.tensors.size(), NdSbp(2));
    std::map<std::pair<std::string, std::string>, uint32_t> records;
    for (const sbp::Op& op : graph.ops) {
      const std::string& text = signatures_.at(op.name);
      const auto [record, fresh] =
          records.try_emplace({graph.type_of(op), text}, static_cast<uint32_t>(plan_.records.size()));
      if (fresh) plan_.records.push_back(Record(graph.type_of(op), *ParseSignature(text, 2)));
      plan_.op_records.push_back(record->second);
      const Signature& signature = plan_.records[record->second].signature;
      plan_.source_layouts[op.outputs[0].index()] = signature.outputs[0];
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (graph.tensor(op.inputs[i]).role != TensorRole::kActivation) {
          plan_.source_layouts[op.inputs[i].index()] = signature.inputs[i];
        }
      }
    }
    Box();
    plan_.memory.peak_bytes = 12'300'000'000;
    plan_.memory.parameter_bytes = 10'000'000'000;
    plan_.memory.activation_bytes = 2'200'000'000;
    plan_.memory.boxing_bytes = 100'000'000;
    plan_.memory.peak_op = OpId(graph.ops.size() - 1);
    plan_.memory.holders = {{"embedding.weight", "parameter", 262'144'000}, {"logits", "activation", 65'536'000}};
  }

  DecisionRecord Record(const std::string& type, Signature signature) {
    DecisionRecord record;
    record.signature = std::move(signature);
    record.compute_seconds = type == "MatMul" ? 1e-3 : 1e-4;
    record.choice = "splits by hand";
    record.reason = "a test";
    record.num_candidates = 9;
    return record;
  }

  void Box() {
    const Graph& graph = plan_.graph;
    for (uint32_t o = 0; o < graph.ops.size(); ++o) {
      const DecisionRecord& record = plan_.records[plan_.op_records[o]];
      plan_.total.compute_seconds += record.compute_seconds;
      for (uint32_t i = 0; i < graph.ops[o].inputs.size(); ++i) {
        const TensorId t = graph.ops[o].inputs[i];
        const NdSbp &from = plan_.source_layouts[t.index()], &to = record.signature.inputs[i];
        if (from == to) continue;
        Transition transition{t, from, to, {}, {{OpId(o), i}}, 5e-4, 2e8, "partial sums needed whole"};
        transition.steps.push_back({CollectiveKind::kAllReduce, 1, from, to, 3.3e7, 2e8, 5e-4});
        plan_.total.collective_seconds += transition.seconds;
        plan_.total.bytes_moved += transition.wire_bytes;
        plan_.transitions.push_back(std::move(transition));
      }
    }
  }

  const TransformerOptions& options_;
  GraphBuilder builder_;
  Plan plan_;
  std::map<std::string, std::string> signatures_;
};

}  // namespace

Plan TransformerPlan(const TransformerOptions& options) { return TransformerBuilder(options).Build(); }

Plan BareTransformer(const TransformerOptions& options) {
  Plan plan;
  plan.graph = TransformerPlan(options).graph;
  return plan;
}

}  // namespace sbp::testing
