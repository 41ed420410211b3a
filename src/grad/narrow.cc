#include "grad/narrow.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "grad/appender.h"
#include "grad/order.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

constexpr std::string_view kProduct = "sbp::NarrowEinsum";

bool IsHalf(DType type) { return type == DType::kF16 || type == DType::kBF16; }

class Narrower {
 public:
  Narrower(Graph& graph, const RuleSet& rules)
      : graph_(graph), appender_(graph, rules), of_parameters_(OfParameters(graph)), root_(graph.tensors.size()) {}

  Result<int64_t> Run(std::span<const Trained> trained) {
    FindRoots();
    FindHead();
    for (const Trained& entry : trained) MarkGradient(entry);
    const size_t count = graph_.ops.size();
    int64_t products = 0;
    for (size_t o = 0; o < count; ++o) {
      if (!IsNarrowed(o)) continue;
      ++products;
      SBP_RETURN_IF_ERROR(Replace(o));
    }
    MoveBefore(graph_, count, before_);
    return products;
  }

 private:
  // Casts and moves of one tensor, none of which mixes it with others.
  static bool PassesOn(const Graph& graph, const Op& op) {
    const std::string& type = graph.type_of(op);
    return type == "Cast" || type == kRefetchOp || MovesOnly(graph, op);
  }

  // The parameter that each tensor is a copy of.
  void FindRoots() {
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].role == TensorRole::kParameter) root_[t] = TensorId(t);
    }
    for (const Op& op : graph_.ops) {
      if (op.inputs.empty() || !op.inputs[0].valid() || !PassesOn(graph_, op)) continue;
      if (op.outputs[0].valid()) root_[op.outputs[0].index()] = root_[op.inputs[0].index()];
    }
  }

  // MatMul, Gemm that scales nothing, or Einsum of two operands, of a half type.
  bool IsProduct(const Op& op) const {
    const std::string& type = graph_.type_of(op);
    const bool gemm = type == "Gemm" && op.attributes->Float("alpha", 1) == 1 && op.attributes->Float("beta", 1) == 1;
    if ((type != "MatMul" && type != "Einsum" && !gemm) || op.outputs.size() != 1) return false;
    if (op.inputs.size() < 2 || (op.inputs.size() > 2 && !gemm)) return false;
    return std::all_of(op.inputs.begin(), op.inputs.begin() + 2, [&](TensorId id) {
      return IsHalf(graph_.tensor(id).type.dtype) && graph_.tensor(id).type.rank() >= 2;
    });
  }

  // The parameter of a product of data and a weight; invalid: it is none.
  TensorId WeightOf(const Op& op) const {
    if (!IsProduct(op)) return {};
    const TensorId a = root_[op.inputs[0].index()], b = root_[op.inputs[1].index()];
    if (of_parameters_[op.inputs[0].index()] && of_parameters_[op.inputs[1].index()]) return {};
    return a.valid() ? a : b;
  }

  // Weights of the products behind which no other stands.
  void FindHead() {
    std::vector<bool> behind(graph_.tensors.size(), false);  // a product reads what is made of it
    for (size_t o = graph_.ops.size(); o-- > 0;) {
      const Op& op = graph_.ops[o];
      if (PhaseOf(graph_, op) != Phase::kForward) continue;
      bool reads = std::ranges::any_of(op.outputs, [&](TensorId id) { return id.valid() && behind[id.index()]; });
      if (const TensorId weight = WeightOf(op); weight.valid() && !reads) head_.insert(weight);
      reads = reads || IsProduct(op);
      for (const TensorId id : op.inputs) {
        if (id.valid() && reads) behind[id.index()] = true;
      }
    }
  }

  // The product that makes the gradient, behind casts.
  void MarkGradient(const Trained& entry) {
    if (head_.contains(entry.parameter)) return;
    TensorId at = entry.gradient;
    while (at.valid()) {
      const OpId producer = graph_.tensor(at).producer;
      if (!producer.valid()) return;
      const Op& op = graph_.op(producer);
      if (IsProduct(op)) gradients_.insert(at);
      if (op.inputs.empty() || !PassesOn(graph_, op)) return;
      at = op.inputs[0];
    }
  }

  bool IsNarrowed(size_t o) const {
    const Op& op = graph_.ops[o];
    const TensorId weight = WeightOf(op);
    if (weight.valid()) return !head_.contains(weight);
    return IsProduct(op) && gradients_.contains(op.outputs[0]);
  }

  Status Replace(size_t o) {
    const std::string equation = EquationOf(graph_.ops[o]);
    const TensorType made = graph_.tensor(graph_.ops[o].outputs[0]).type;
    std::vector<TensorId> operands;
    for (size_t i = 0; i < 2; ++i) {
      SBP_ASSIGN_OR_RETURN(const TensorId narrow, Narrow(graph_.ops[o].inputs[i], o));
      operands.push_back(narrow);
    }
    Attributes attributes;
    attributes.Set("equation", equation);
    attributes.Set("to", static_cast<int64_t>(made.dtype));
    const AttributesRef shared = appender_.Shared(std::move(attributes));
    const bool adds = graph_.ops[o].inputs.size() > 2 && graph_.ops[o].inputs[2].valid();
    if (adds) {  // what is added is of the wide type
      const std::string name = StrCat(graph_.ops[o].name, "/product");
      operands = {appender_.CallTyped(kProduct, operands, shared, made, name, graph_.ops[o].scope),
                  graph_.ops[o].inputs[2]};
      before_.push_back(o);
    }
    Op& op = graph_.ops[o];
    op.inputs = std::move(operands);
    op.attributes = adds ? appender_.Shared({}) : shared;
    op.type = TypeIndex(adds ? "Add" : kProduct);
    return OkStatus();
  }

  std::string EquationOf(const Op& op) const {
    if (graph_.type_of(op) == "Gemm") {
      return StrCat(op.attributes->Int("transA", 0) != 0 ? "km," : "mk,",
                    op.attributes->Int("transB", 0) != 0 ? "nk->mn" : "kn->mn");
    }
    if (graph_.type_of(op) == "MatMul") return "...mk,...kn->...mn";
    return op.attributes->String("equation", "");
  }

  // Is it a cotangent, of a wide range?
  DType NarrowType(TensorId id) const {
    const OpId producer = graph_.tensor(id).producer;
    const bool backward = producer.valid() && PhaseOf(graph_, graph_.op(producer)) == Phase::kBackward;
    return backward && !root_[id.index()].valid() ? DType::kF8E5M2 : DType::kF8E4M3FN;
  }

  Result<TensorId> Narrow(TensorId id, size_t reader) {
    const auto known = narrow_.find(id);
    if (known != narrow_.end()) return known->second;
    const uint32_t scope = graph_.ops[reader].scope;
    const OpId producer = graph_.tensor(id).producer;
    const std::string name = StrCat("narrow/", graph_.tensor(id).name);
    if (producer.valid() && graph_.type_of(graph_.op(producer)) == "Transpose") {
      SBP_ASSIGN_OR_RETURN(const TensorId before, Narrow(graph_.op(producer).inputs[0], reader));
      TensorType type = graph_.tensor(id).type;
      type.dtype = graph_.tensor(before).type.dtype;
      const AttributesRef attributes = graph_.op(producer).attributes;
      before_.push_back(reader);
      return narrow_[id] = appender_.CallTyped("Transpose", {before}, attributes, type, name, scope);
    }
    SBP_ASSIGN_OR_RETURN(const TensorId cast,
                         appender_.Call("Cast", {id}, {{"to", static_cast<int64_t>(NarrowType(id))}}, name, scope));
    before_.push_back(reader);
    return narrow_[id] = cast;
  }

  uint32_t TypeIndex(std::string_view type) {
    const auto found = std::ranges::find(graph_.op_types, type);
    if (found != graph_.op_types.end()) return static_cast<uint32_t>(found - graph_.op_types.begin());
    graph_.op_types.emplace_back(type);
    return static_cast<uint32_t>(graph_.op_types.size() - 1);
  }

  Graph& graph_;
  Appender appender_;
  const std::vector<bool> of_parameters_;
  std::vector<TensorId> root_;              // per tensor
  std::unordered_set<TensorId> head_;       // parameters
  std::unordered_set<TensorId> gradients_;  // products
  std::unordered_map<TensorId, TensorId> narrow_;
  std::vector<size_t> before_;  // per op that is added: the one that it stands in front of
};

}  // namespace

Result<int64_t> NarrowProducts(Graph& graph, std::span<const Trained> trained, const RuleSet& rules) {
  return Narrower(graph, rules).Run(trained);
}

}  // namespace sbp
