// What is known of the values of one graph's tensors: given by the model or for an input, computed from these, or
// assumed; and where they come from.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "fold/assumed.h"
#include "fold/provenance.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {

class KnownValues {
 public:
  // `graph`'s parameters are known where they have literals.
  KnownValues(Provenance& provenance, const Graph& graph);

  // Of the graph's next tensor.
  void Add(const Tensor& tensor);
  // Known or assumed; null: neither.
  const LiteralRef& value(TensorId tensor) const { return values_[tensor.index()]; }
  LiteralRef known_value(TensorId tensor) const { return assumptions_.Touches(tensor) ? nullptr : value(tensor); }

  // The value of an input, known for this pass.
  void SetGiven(TensorId tensor, LiteralRef value);
  // The value of what was computed.
  void SetDerived(TensorId tensor, LiteralRef value);
  // `to` holds the value of `from`, and is a weight or shape arithmetic as that is.
  void SetSameAs(TensorId to, TensorId from);

  // Values are folded when they are shape arithmetic: no operand is a weight, or one was folded before.
  bool MayFold(const Op& op) const;

  Assumptions& assumptions() { return assumptions_; }
  const Assumptions& assumptions() const { return assumptions_; }

  // Where the elements of a value come from: it is an example, and ops on it stay (provenance.h).
  void SetSources(TensorId tensor, Provenance::Sources sources);
  const Provenance::Sources& sources(TensorId tensor) const;  // empty: constant
  const SourceMap& origins() const { return origins_; }
  // A shape, a branch or a number of trips follows from this value: the graph assumes it.
  void Use(TensorId tensor);

 private:
  enum Flag : uint8_t { kDerived = 1, kWeight = 2 };

  Provenance& provenance_;
  std::vector<LiteralRef> values_;  // per tensor
  std::vector<uint8_t> flags_;      // per tensor
  Assumptions assumptions_;
  SourceMap origins_;
};

// Is a constant of this type a weight rather than part of shape arithmetic? Ops on weights alone are not folded, so
// that parameters keep their names.
bool LooksLikeWeight(const TensorType& type);

}  // namespace sbp
