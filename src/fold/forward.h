// The forward pass: types and values of all tensors of one graph whose inputs are typed, in topological order.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fold/assumed.h"
#include "fold/cause.h"
#include "fold/context.h"
#include "fold/evaluate.h"
#include "fold/guess.h"
#include "fold/provenance.h"
#include "graph/graph.h"

namespace sbp {

class ForwardPass {
 public:
  // Inputs of `graph` have static types; other types are what the file states. `where` prefixes errors.
  ForwardPass(FoldContext& context, Graph graph);

  // The value of an input, known for this pass.
  void SetValue(TensorId tensor, LiteralRef value);
  // Where the elements of that value come from: it is an example, and ops on it stay (provenance.h).
  void SetSources(TensorId tensor, Provenance::Sources sources);
  const Provenance::Sources& sources(TensorId tensor) const;  // empty: constant
  // A shape, a branch or a number of trips follows from this value: the graph assumes it.
  void UseValue(TensorId tensor);
  // What is assumed of an input, and its value where one is (null: none).
  void SetAssumed(TensorId tensor, const AssumedFlags& dims, const AssumedFlags& elements, const LiteralRef& value);

  // The graph with every type static: ops whose results are known are parameters, If on a known condition is inlined.
  Result<Graph> Run();
  // Warns of sizes that were taken at their bound, as far as `graph`, of the same tensors, has ops that write these.
  void WarnOfBounds(const Graph& graph);

  // For ops with subgraphs (control.cc).
  FoldContext& context() { return context_; }
  const Graph& graph() const { return graph_; }
  // Known or assumed; null: neither.
  const LiteralRef& value(TensorId tensor) const { return values_[tensor.index()]; }
  LiteralRef known_value(TensorId tensor) const { return assumptions_.Touches(tensor) ? nullptr : value(tensor); }
  const Assumptions& assumptions() const { return assumptions_; }
  // What the file states of a result, with bound symbols filled in.
  TensorType Stated(TensorId tensor) const;

  // Of a subgraph: where the tensors behind its inputs stand in the graph around it (invalid: in none).
  void SetOuter(const ForwardPass& outer, std::vector<TensorId> sources);
  // What decides a value that is not known.
  Cause WhyUnknown(TensorId tensor) const;

 private:
  Status ProcessOps(std::vector<Op> ops);
  Status ProcessOp(Op op);
  // The results of an op on known values; assumed where `flags` are there.
  struct Folded {
    std::vector<Literal> values;  // empty: not folded
    std::optional<std::vector<AssumedFlags>> flags;
    std::optional<std::vector<Provenance::Sources>> sources;  // they follow from inputs
  };
  Folded Fold(const Op& op) const;
  void AssumeForms(Op& op);
  TensorId AssumedConstant(TensorId tensor);
  Status InferAssumed(Op op, Folded folded);
  std::optional<FoldRequest> RequestFor(const Op& op, const FoldableOp& row) const;
  std::string WhyNotFolded(const Op& op, const FoldableOp& row) const;
  bool MayFold(const Op& op) const;
  Status Infer(Op op);
  Status WithAdvice(const Op& op, const Status& failure) const;
  Status TakeResults(const Op& op, const RuleInstance& instance, const Status& failure);
  Status TakeMissingRule(const Op& op, const RuleInstance& instance);
  void CheckStated(const Op& op, TensorId tensor, const TensorType& stated);
  void CheckBindings(const Op& op, TensorId tensor, const TensorType& inferred);
  void SetFolded(TensorId tensor, Literal value);
  bool ReadsAssumed(const Op& op) const;
  void NoteAssumedDims(Op& op, const RuleInstance& instance) const;

  void HandOnContainers(Op& op);

  // Softmax and its kin of old opsets (kFlattenFrom).
  Status ExpandFlattening(Op op, int64_t axis);

  // If with a known condition: the branch's ops take its place.
  Status InlineBranch(const Op& op, const Graph& branch, size_t first_capture);

  TensorId AddTensor(Tensor tensor);
  std::string UniqueTensorName(const std::string& name);
  std::string UniqueOpName(const std::string& name);
  uint32_t TypeIndex(const std::string& type);
  uint32_t ScopeIndex(const std::string& scope);
  OpId AddOp(Op op);  // numbers it and sets its results' producer
  std::string Place(const Op& op) const;

  FoldContext& context_;
  Graph graph_;
  Guesses guesses_;
  Assumptions assumptions_;
  SourceMap origins_;
  std::unordered_map<TensorId, TensorId> assumed_constants_;
  const ForwardPass* outer_ = nullptr;
  std::vector<TensorId> sources_;  // per input
  struct Bounded {
    std::string place;
    TensorId tensor;
    TensorType bound;
    std::string reason;  // where the model states less than the bound
  };
  std::vector<Bounded> bounded_;
  std::vector<Op> done_;  // the ops that stay
  enum Flag : uint8_t { kDerived = 1, kWeight = 2 };
  std::vector<uint8_t> flags_;               // per tensor
  std::vector<LiteralRef> values_;           // per tensor
  std::vector<const FoldableOp*> foldable_;  // per op type
  // Filled only where a branch may be inlined or an op expanded, which is rare.
  std::unordered_set<std::string> tensor_names_, op_names_;
  std::unordered_map<std::string, uint32_t> type_ids_, scope_ids_;
};

// Does the op have subgraphs among its attributes?
bool HasSubgraphs(const Op& op);

// Is a constant of this type a weight rather than part of shape arithmetic? Ops on weights alone are not folded, so
// that parameters keep their names.
bool LooksLikeWeight(const TensorType& type);

}  // namespace sbp
