// One graph while its shapes are inferred and its known values folded: what all parts of the pass read and write.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "fold/assumed.h"
#include "fold/context.h"
#include "fold/guess.h"
#include "fold/known_values.h"
#include "fold/open_graph.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {

class PassState {
 public:
  // Inputs of `graph` have static types; other types are what the file states.
  PassState(FoldContext& context, Graph graph);

  FoldContext& context() const { return context_; }
  OpenGraph& open() { return open_; }
  const OpenGraph& open() const { return open_; }
  Graph& graph() { return open_.graph(); }
  const Graph& graph() const { return open_.graph(); }
  KnownValues& values() { return values_; }
  const KnownValues& values() const { return values_; }
  Guesses& guesses() { return guesses_; }

  // Shorter words for values().
  const LiteralRef& value(TensorId tensor) const { return values_.value(tensor); }
  const Assumptions& assumptions() const { return values_.assumptions(); }
  void UseValue(TensorId tensor) { values_.Use(tensor); }

  // What is assumed of an input, and its value where one is (null: none).
  void SetAssumed(TensorId tensor, const AssumedFlags& dims, const AssumedFlags& elements, const LiteralRef& value);
  // What the file states of a result, with bound symbols filled in.
  TensorType Stated(TensorId tensor) const;
  TensorId AddTensor(Tensor tensor);
  // The op stays. Warns of sizes that the user gives for it and that it does not have.
  void PutOp(Op op);

  // A result's size was taken at its bound; `reason`: where the model states less.
  void NoteBound(const Op& op, TensorId tensor, const TensorType& bound, std::string reason);
  // Warns of these, as far as `graph`, of the same tensors, has ops that write them.
  void WarnOfBounds(const Graph& graph) const;

  // Of a subgraph: where the tensors behind its inputs stand in the graph around it (invalid: in none).
  void SetOuter(const PassState& outer, std::vector<TensorId> sources);
  const PassState* outer() const { return outer_; }
  const std::vector<TensorId>& outer_sources() const { return outer_sources_; }  // per input

 private:
  struct Bounded {
    std::string place;
    TensorId tensor;
    TensorType bound;
    std::string reason;
  };

  FoldContext& context_;
  OpenGraph open_;
  KnownValues values_;
  Guesses guesses_;
  const PassState* outer_ = nullptr;
  std::vector<TensorId> outer_sources_;
  std::vector<Bounded> bounded_;
};

}  // namespace sbp
