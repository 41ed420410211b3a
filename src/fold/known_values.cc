#include "fold/known_values.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {

bool LooksLikeWeight(const TensorType& type) {
  const bool index_type = type.dtype == DType::kI64 || type.dtype == DType::kI32 || type.dtype == DType::kBool;
  return type.rank() > 0 && !index_type;
}

KnownValues::KnownValues(Provenance& provenance, const Graph& graph) : provenance_(provenance) {
  values_.reserve(graph.tensors.size());
  flags_.reserve(graph.tensors.size());
  for (const Tensor& tensor : graph.tensors) Add(tensor);
}

void KnownValues::Add(const Tensor& tensor) {
  const bool parameter = tensor.role == TensorRole::kParameter;
  values_.push_back(parameter ? tensor.literal : nullptr);
  flags_.push_back(parameter && LooksLikeWeight(tensor.type) ? kWeight : 0);
}

void KnownValues::SetGiven(TensorId tensor, LiteralRef value) {
  if (LooksLikeWeight(value->type)) flags_[tensor.index()] = kWeight;
  values_[tensor.index()] = std::move(value);
}

void KnownValues::SetDerived(TensorId tensor, LiteralRef value) {
  flags_[tensor.index()] = kDerived;
  values_[tensor.index()] = std::move(value);
}

void KnownValues::SetSameAs(TensorId to, TensorId from) {
  flags_[to.index()] = flags_[from.index()];
  values_[to.index()] = values_[from.index()];
}

bool KnownValues::MayFold(const Op& op) const {
  bool weight = false;
  bool derived = false;
  for (const TensorId id : op.inputs) {
    if (!id.valid()) continue;
    weight = weight || (flags_[id.index()] & kWeight) != 0;
    derived = derived || (flags_[id.index()] & kDerived) != 0;
  }
  return derived || !weight;
}

void KnownValues::SetSources(TensorId tensor, Provenance::Sources sources) {
  const bool constant = std::ranges::all_of(sources, [](auto source) { return source == Provenance::kConstant; });
  if (constant)
    origins_.erase(tensor);
  else
    origins_[tensor] = std::move(sources);
}

const Provenance::Sources& KnownValues::sources(TensorId tensor) const {
  static const Provenance::Sources kNone;
  const auto found = origins_.find(tensor);
  return found == origins_.end() ? kNone : found->second;
}

void KnownValues::Use(TensorId tensor) {
  if (tensor.valid()) provenance_.Use(sources(tensor));
}

}  // namespace sbp
