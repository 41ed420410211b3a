#include "fusion/op_traits.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "decompose/decompose.h"
#include "decompose/primitives.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"

namespace sbp {
namespace {

using Kind = OpTraits::Kind;
constexpr int kMaxDepth = 40;  // as decompose/ allows

OpTraits Anchor() { return {}; }

Kind KindOf(PrimitiveClass primitive) {
  switch (primitive) {
    case PrimitiveClass::kElementwise:
    case PrimitiveClass::kCast:
    case PrimitiveClass::kSelect:
    case PrimitiveClass::kRandom:
    case PrimitiveClass::kReduce:
    case PrimitiveClass::kIota:
    case PrimitiveClass::kConcat:
    case PrimitiveClass::kPad:
      return Kind::kLight;
    case PrimitiveClass::kReshape:
    case PrimitiveClass::kTranspose:
    case PrimitiveClass::kBroadcast:
    case PrimitiveClass::kSlice:
      return Kind::kMove;
    case PrimitiveClass::kDotGeneral:
    case PrimitiveClass::kConvolution:
      return Kind::kContraction;
    default:
      return Kind::kAnchor;
  }
}

// Does the reduction keep leading dimensions and nothing else?
bool ReducesLastDims(const Graph& graph, const Op& op) {
  const TensorType& type = graph.tensor(op.inputs[0]).type;
  std::vector<int64_t> axes;
  if (const std::vector<int64_t>* attribute = op.attributes->Ints("axes")) axes = *attribute;
  if (op.inputs.size() > 1 && op.inputs[1].valid()) {
    const LiteralRef& literal = graph.tensor(op.inputs[1]).literal;
    if (literal == nullptr) return false;
    axes = literal->ints;
  }
  std::vector<bool> reduced(type.shape.size(), axes.empty());
  for (const int64_t axis : axes) {  // of a file that nobody checked
    const int64_t dim = axis < 0 ? axis + type.rank() : axis;
    if (dim < 0 || dim >= type.rank()) return false;
    reduced[static_cast<size_t>(dim)] = true;
  }
  bool seen = false;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (type.shape[d] == 1) continue;
    if (seen && !reduced[d]) return false;
    seen = seen || reduced[d];
  }
  return true;
}

class TraitsFinder {
 public:
  explicit TraitsFinder(const RuleSet& rules) : rules_(rules) {}

  std::vector<OpTraits> Run(const Graph& graph) {
    std::vector<OpTraits> traits;
    traits.reserve(graph.ops.size());
    std::unordered_map<TensorType, uint64_t> type_numbers;
    std::unordered_map<std::vector<uint64_t>, OpTraits, KeyHash> known;
    std::vector<uint64_t> key;
    for (const Op& op : graph.ops) {
      key.assign({op.type, reinterpret_cast<uintptr_t>(op.attributes.get()), op.inputs.size()});
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (!op.inputs[i].valid()) {
          key.push_back(~uint64_t{0});
          continue;
        }
        const Tensor& tensor = graph.tensor(op.inputs[i]);
        key.push_back(type_numbers.try_emplace(tensor.type, type_numbers.size()).first->second);
        if (rules_.ReadsValue(graph.type_of(op), i)) key.push_back(reinterpret_cast<uintptr_t>(tensor.literal.get()));
      }
      for (const TensorId id : op.outputs)
        key.push_back(id.valid() ? type_numbers.try_emplace(graph.tensor(id).type, type_numbers.size()).first->second
                                 : ~0ULL);
      const auto [entry, is_new] = known.try_emplace(key);
      if (is_new) entry->second = Of(graph, op, 0);
      traits.push_back(entry->second);
    }
    return traits;
  }

 private:
  struct KeyHash {
    size_t operator()(const std::vector<uint64_t>& key) const { return HashRange(key.size(), key); }
  };

  OpTraits Of(const Graph& graph, const Op& op, int depth) const {
    if (!op.captures.empty() || HasSubgraph(*op.attributes) || depth > kMaxDepth) return Anchor();
    for (const TensorId id : op.outputs) {
      if (id.valid() && graph.tensor(id).type.kind != ValueKind::kTensor) return Anchor();
    }
    const OpQuery query = QueryFor(graph, rules_, op);
    if (const Result<RuleInstanceRef> instance = rules_.Instantiate(query); instance.ok() && (*instance)->map.view)
      return {.kind = Kind::kView};
    if (const PrimitiveRow* primitive = FindPrimitive(query.type)) return OfPrimitive(graph, op, *primitive);
    const Result<Graph> inner = ExpandOp(query, rules_);
    if (!inner.ok()) return Anchor();
    OpTraits all{.kind = Kind::kView};
    bool permutes = false;
    for (const Op& part : inner->ops) {
      const OpTraits traits = Of(*inner, part, depth + 1);
      const PrimitiveRow* primitive = FindPrimitive(inner->type_of(part));
      const bool mixes = permutes && primitive != nullptr && primitive->kind == PrimitiveClass::kReshape;
      permutes = permutes || (primitive != nullptr && primitive->kind == PrimitiveClass::kTranspose);
      all.spreads = all.spreads || traits.spreads || mixes;
      all.convolves = all.convolves || traits.convolves;
      if (traits.kind == Kind::kAnchor) return Anchor();
      if (traits.kind == Kind::kContraction && all.kind == Kind::kContraction) return Anchor();
      all.kind = std::max(all.kind, traits.kind);
      Reduce(traits, all);
      all.exponentiates = all.exponentiates || traits.exponentiates;
      all.sums = all.sums || traits.sums;
    }
    return all;
  }

  static void Reduce(const OpTraits& part, OpTraits& all) {
    if (!part.reduces) return;
    all.rows = !all.reduces || all.rows == part.rows ? part.rows : -1;
    all.reduces = true;
  }

  static OpTraits OfPrimitive(const Graph& graph, const Op& op, const PrimitiveRow& primitive) {
    OpTraits traits{.kind = KindOf(primitive.kind)};
    traits.exponentiates = primitive.op == "Exp";
    traits.joins = primitive.kind == PrimitiveClass::kConcat;
    traits.convolves = primitive.kind == PrimitiveClass::kConvolution;
    traits.spreads = primitive.kind == PrimitiveClass::kBroadcast;
    if (primitive.kind != PrimitiveClass::kReduce) return traits;
    traits.sums = primitive.op == "ReduceSum";
    traits.reduces = true;
    const bool complete = !op.inputs.empty() && op.inputs[0].valid() && !op.outputs.empty() && op.outputs[0].valid();
    traits.rows = complete && ReducesLastDims(graph, op) ? graph.tensor(op.outputs[0]).type.num_elements() : -1;
    return traits;
  }

  const RuleSet& rules_;
};

}  // namespace

std::vector<OpTraits> TraitsOfOps(const Graph& graph, const RuleSet& rules) { return TraitsFinder(rules).Run(graph); }

}  // namespace sbp
