#include "fold/pass_state.h"

#include <algorithm>

#include "base/ids.h"
#include "base/text.h"
#include "fold/assumed.h"
#include "fold/bind.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"

namespace sbp {
namespace {

// A size given for a symbol that only results have must be theirs.
void CheckBindings(const PassState& pass, const Op& op, TensorId id) {
  const Tensor& tensor = pass.graph().tensor(id);
  const TensorType& inferred = tensor.type;
  FoldContext& context = pass.context();
  if (tensor.symbols.size() != inferred.shape.size()) return;
  for (size_t axis = 0; axis < tensor.symbols.size(); ++axis) {
    const auto given = context.bindings_of_results.find(tensor.symbols[axis]);
    if (given == context.bindings_of_results.end() || given->second == inferred.shape[axis]) continue;
    context.warnings.Add("--dim gives another size than follows from the ops",
                         StrCat("--dim ", given->first, "=", given->second, ": ", pass.open().Place(op), ": dimension ",
                                axis, " of ", Quote(tensor.name), " is ", inferred.shape[axis]));
  }
}

}  // namespace

PassState::PassState(FoldContext& context, Graph graph)
    : context_(context), open_(std::move(graph)), values_(context.provenance, open_.graph()), guesses_(open_.graph()) {}

void PassState::SetAssumed(TensorId id, const AssumedFlags& dims, const AssumedFlags& elements,
                           const LiteralRef& value) {
  values_.assumptions().SetDims(id, dims);
  values_.assumptions().SetElements(id, elements);
  if (elements.empty() || value == nullptr) return;
  values_.SetGiven(id, value);
  graph().tensor(id).literal = value;
}

TensorType PassState::Stated(TensorId id) const {
  const Tensor& tensor = graph().tensor(id);
  return tensor.symbols.empty() ? tensor.type : WithBindings(tensor.type, tensor.symbols, context_.bindings);
}

TensorId PassState::AddTensor(Tensor tensor) {
  const TensorId id = open_.AddTensor(std::move(tensor));
  values_.Add(graph().tensor(id));
  return id;
}

void PassState::PutOp(Op op) {
  if (!context_.bindings_of_results.empty()) {
    for (const TensorId id : op.outputs) {
      if (id.valid()) CheckBindings(*this, op, id);
    }
  }
  open_.Put(std::move(op));
}

void PassState::NoteBound(const Op& op, TensorId tensor, const TensorType& bound, std::string reason) {
  bounded_.push_back({open_.Place(op), tensor, bound, std::move(reason)});
}

void PassState::WarnOfBounds(const Graph& graph) const {
  if (bounded_.empty()) return;
  std::vector<bool> written(graph.tensors.size());
  for (const Op& op : graph.ops) {
    for (const TensorId id : op.outputs) {
      if (id.valid()) written[id.index()] = true;
    }
  }
  for (const auto& [place, id, bound, reason] : bounded_) {
    if (!written[id.index()]) continue;
    const Tensor& tensor = graph.tensor(id);
    std::string why = reason.empty() ? "" : StrCat(" (", reason, ")");
    const bool open = std::ranges::count(bound.shape, kOpenSize) > 0;
    if (tensor.type != bound) why = StrCat(" (as stated further on", open ? "" : "; at most " + ToString(bound), ")");
    context_.warnings.Add("size taken at its upper bound",
                          StrCat(place, ": ", Quote(tensor.name), " ", ToString(tensor.type), why));
  }
}

void PassState::SetOuter(const PassState& outer, std::vector<TensorId> sources) {
  outer_ = &outer;
  outer_sources_ = std::move(sources);
}

}  // namespace sbp
