#include "grad/precision.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

// Of torch.autocast's list of ops that run in float32, those that ONNX spells out.
constexpr std::string_view kWideOps[] = {"CumProd",
                                         "CumSum",
                                         "Exp",
                                         "Log",
                                         "LpNormalization",
                                         "NegativeLogLikelihoodLoss",
                                         "Pow",
                                         "Reciprocal",
                                         "ReduceL1",
                                         "ReduceL2",
                                         "ReduceLogSum",
                                         "ReduceLogSumExp",
                                         "ReduceMean",
                                         "ReduceProd",
                                         "ReduceSum",
                                         "ReduceSumSquare",
                                         "SoftmaxCrossEntropyLoss",
                                         "Sqrt"};

class Lowering {
 public:
  Lowering(Graph& graph, DType type, const RuleSet& rules) : graph_(graph), type_(type), appender_(graph, rules) {
    for (size_t i = 0; i < graph.op_types.size(); ++i) {
      is_wide_.push_back(std::ranges::find(kWideOps, graph.op_types[i]) != std::end(kWideOps));
    }
  }

  Status Run(const std::vector<std::string>& parameters) {
    const NameIndex index(graph_);
    std::vector<TensorId> narrow;
    for (const std::string& name : parameters) {
      const TensorId id = index.tensor(name);
      if (!id.valid()) continue;
      if (IsF32(id)) computed_.insert(id);
      if (graph_.tensor(id).type.dtype == type_) narrow.push_back(id);
    }
    if (!narrow.empty()) return KeepMasters(narrow);
    if (computed_.empty()) return NoneToCast(parameters, index);
    const size_t count = graph_.ops.size();
    for (size_t i = 0; i < count; ++i) {
      const Status lowered = Visit(OpId(i));
      if (!lowered.ok()) return lowered.WithContext(StrCat("--compute: op ", Quote(graph_.ops[i].name)));
    }
    return SortTopologically(graph_);
  }

 private:
  // Of a model that is in the narrow type already, and says itself what it computes in which: its narrow parameters are
  // f32, with the values that they have, and who reads them reads a cast; its f32 parameters are masters as they are.
  Status KeepMasters(const std::vector<TensorId>& narrow) {
    for (const TensorId id : narrow) Widen(graph_.tensor(id));
    computed_ = {narrow.begin(), narrow.end()};
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      for (const auto list : {&Op::inputs, &Op::captures}) {
        for (size_t i = 0; i < (graph_.ops[o].*list).size(); ++i) {
          const TensorId id = (graph_.ops[o].*list)[i];
          if (!computed_.contains(id)) continue;
          SBP_ASSIGN_OR_RETURN(const TensorId cast, CastTo(id, type_, graph_.ops[o].scope));
          (graph_.ops[o].*list)[i] = cast;
        }
      }
    }
    return SortTopologically(graph_);
  }

  void Widen(Tensor& tensor) {
    if (tensor.data && tensor.part == nullptr) tensor.data->stored = tensor.type.dtype;  // a part says it of the whole
    tensor.type.dtype = DType::kF32;
    if (tensor.literal == nullptr) return;
    Literal literal = *tensor.literal;
    literal.type.dtype = DType::kF32;
    literal.raw.clear();
    tensor.literal = std::make_shared<const Literal>(std::move(literal));
  }

  Status NoneToCast(const std::vector<std::string>& parameters, const NameIndex& index) const {
    std::string text = "--compute: no parameter that is trained is f32";
    for (const std::string& name : parameters) {
      const TensorId id = index.tensor(name);
      if (!id.valid() || !IsFloat(graph_.tensor(id).type.dtype)) continue;
      text += StrCat(": ", Quote(name), " is ", DTypeName(graph_.tensor(id).type.dtype));
      if (graph_.tensor(id).type.dtype == DType::kBF16) text += ", of which --compute bf16 keeps masters of f32";
      if (graph_.tensor(id).type.dtype == DType::kF16) text += ", of which --compute f16 keeps masters of f32";
      break;
    }
    return BadInput(text);
  }

  bool IsF32(TensorId id) const { return graph_.tensor(id).type.dtype == DType::kF32; }

  Status Visit(OpId id) {
    // Copies: casts are added to the graph.
    const std::vector<TensorId> inputs = graph_.op(id).inputs;
    const std::string type = graph_.type_of(graph_.op(id));
    const uint32_t scope = graph_.op(id).scope;
    const bool lowers = std::ranges::any_of(inputs, [&](TensorId t) { return t.valid() && IsLow(t); });
    const bool has_body = HasSubgraph(*graph_.op(id).attributes);
    if (!lowers && !(has_body && CapturesLow(id))) return OkStatus();
    const bool wide = is_wide_[graph_.op(id).type] || has_body;
    // A Cast says itself what it gives.
    const DType wanted = wide ? DType::kF32 : type_;
    // What a batch is normalised by stays wide.
    const size_t num_cast = type == "Cast" ? 0 : type == "BatchNormalization" ? 1 : inputs.size();
    for (size_t i = 0; i < num_cast; ++i) {
      if (!inputs[i].valid()) continue;
      SBP_ASSIGN_OR_RETURN(const TensorId cast, CastTo(inputs[i], wanted, scope));
      graph_.op(id).inputs[i] = cast;
    }
    if (type == "Cast" && computed_.contains(inputs[0])) {
      SBP_ASSIGN_OR_RETURN(graph_.op(id).inputs[0], CastTo(inputs[0], type_, scope));
    }
    for (size_t i = 0; has_body && i < graph_.op(id).captures.size(); ++i) {
      SBP_ASSIGN_OR_RETURN(const TensorId cast, CastTo(graph_.op(id).captures[i], DType::kF32, scope));
      graph_.op(id).captures[i] = cast;
    }
    return wide ? OkStatus() : Retype(id);
  }

  // A parameter that is computed with counts as of the narrow type: nobody reads it otherwise.
  bool IsLow(TensorId id) const { return graph_.tensor(id).type.dtype == type_ || computed_.contains(id); }

  bool CapturesLow(OpId id) const {
    return std::ranges::any_of(graph_.op(id).captures, [&](TensorId t) { return t.valid() && IsLow(t); });
  }

  // Results take the types that the rules say of the new operands.
  Status Retype(OpId id) {
    OpQuery query = QueryFor(graph_, appender_.rules(), graph_.op(id));
    SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, appender_.rules().Instantiate(query));
    const std::vector<TensorId>& outputs = graph_.op(id).outputs;
    for (size_t r = 0; r < outputs.size() && r < instance->results.size(); ++r) {
      if (!outputs[r].valid()) continue;
      Tensor& tensor = graph_.tensor(outputs[r]);
      if (tensor.type.dtype == DType::kF32)
        tensor.type.dtype = instance->missing_rule ? type_ : instance->results[r].dtype;
    }
    return OkStatus();
  }

  // The tensor in another float type; itself where it is no f32 or narrow float.
  Result<TensorId> CastTo(TensorId id, DType wanted, uint32_t scope) {
    const Tensor& tensor = graph_.tensor(id);
    if ((tensor.type.dtype != DType::kF32 && tensor.type.dtype != type_) || tensor.type.dtype == wanted) return id;
    const auto [known, is_new] = casts_.try_emplace(id, TensorId());
    if (!is_new) return known->second;
    if (tensor.literal != nullptr && !computed_.contains(id)) {
      Literal literal = *tensor.literal;
      literal.type.dtype = wanted;
      for (double& value : literal.floats) {
        value = Clamped(value, wanted);
      }
      return casts_[id] = appender_.Constant(std::move(literal));
    }
    const std::string name = StrCat(wanted == DType::kF32 ? "wide/" : "compute/", tensor.name);
    SBP_ASSIGN_OR_RETURN(const TensorId cast,
                         appender_.Call("Cast", {id}, {{"to", static_cast<int64_t>(wanted)}}, name, scope));
    return casts_[id] = cast;
  }

  // Masks hold the least f32, which must not become an infinity: a row of them would be no number.
  static double Clamped(double value, DType type) {
    if (value != value || value == value * 2) return value;  // no number, zero, infinity
    return std::clamp(value, LowestNumber(type), HighestNumber(type));
  }

  Graph& graph_;
  DType type_;
  Appender appender_;
  std::vector<bool> is_wide_;              // per op type
  std::unordered_set<TensorId> computed_;  // parameters
  std::unordered_map<TensorId, TensorId> casts_;
};

}  // namespace

Result<Graph> LowerPrecision(Graph forward, const std::vector<std::string>& parameters, DType type,
                             const RuleSet& rules) {
  SBP_RETURN_IF_ERROR(Lowering(forward, type, rules).Run(parameters));
  return forward;
}

Result<DType> ParseComputeType(const std::string& name) {
  if (name == kNarrowCompute) return DType::kBF16;
  const std::optional<DType> type = ParseDType(name);
  if (type == DType::kBF16 || type == DType::kF16) return *type;
  return BadInput(StrCat("--compute: expected bf16, f16 or fp8, not ", Quote(name)));
}

}  // namespace sbp
