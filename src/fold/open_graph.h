// A graph while it is written anew: tensors and names can be added, and ops are put down one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "fold/foldable.h"
#include "graph/graph.h"

namespace sbp {

class OpenGraph {
 public:
  explicit OpenGraph(Graph graph);
  OpenGraph(const OpenGraph&) = delete;
  OpenGraph& operator=(const OpenGraph&) = delete;

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  // Its ops, which are to be put down again, some of them as others.
  std::vector<Op> TakeOps();
  // The graph with the ops put down.
  Graph Close();

  TensorId AddTensor(Tensor tensor);  // its name is made unique
  std::string UniqueOpName(const std::string& name);
  uint32_t TypeIndex(const std::string& type);
  uint32_t ScopeIndex(const std::string& scope);
  // Puts an op down: numbers it and sets its results' producer.
  void Put(Op op);

  // The op that was put down and writes this tensor; null: none.
  const Op* ProducerOf(TensorId tensor) const;
  const FoldableOp* FoldableOf(const Op& op) const { return foldable_[op.type]; }
  std::string Place(const Op& op) const;  // for messages

 private:
  Graph graph_;
  std::vector<Op> done_;
  std::vector<const FoldableOp*> foldable_;  // per op type
  // Filled only where a branch may be inlined or an op expanded, which is rare.
  std::unordered_set<std::string> tensor_names_, op_names_;
  std::unordered_map<std::string, uint32_t> type_ids_, scope_ids_;
};

// Does the op have subgraphs among its attributes?
bool HasSubgraphs(const Op& op);

}  // namespace sbp
