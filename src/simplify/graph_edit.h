// GraphEdit: what a pass changes in a graph. The graph's ops stay where they are until Finish, so that references to
// them and their numbers hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/name_table.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "simplify/view.h"

namespace sbp {

class GraphEdit {
 public:
  explicit GraphEdit(Graph& graph);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }

  // The op that writes a tensor, new ones included; null: none.
  const Op* Producer(TensorId tensor) const;
  size_t ProducerIndex(TensorId tensor) const { return graph_.tensor(tensor).producer_index; }
  // Must the tensor keep its name: an output, tied, or with a layout of its own?
  bool IsKept(TensorId tensor) const { return kept_[tensor.index()]; }

  // A new tensor; a number is added to a name that is taken.
  TensorId AddTensor(std::string name, TensorType type);
  // A parameter that holds elements [start, start + count) of a parameter along `axis`. Invalid: it cannot be cut.
  TensorId AddPart(TensorId parameter, int axis, int64_t start, int64_t count);
  TensorId AddInts(const std::vector<int64_t>& values);
  uint32_t TypeIndex(std::string_view type);

  // A copy of `like` (scope, metadata) of another type.
  Op MakeOp(const Op& like, std::string_view type, std::string name, std::vector<TensorId> inputs);
  // Ops that take `from` to `to` by `steps`, of which the last one writes `to` and has the name of `like`. At least one
  // step.
  std::vector<Op> MakeSteps(const Op& like, const std::vector<ElementView::Step>& steps, TensorId from, TensorId to);

  // Adds an op before op number `position` of the graph, after those that were added there; it writes its results from
  // now on. Remove: the op is gone at the end.
  void Insert(size_t position, Op op);
  void Remove(size_t position) { removed_[position] = true; }
  // Readers of `tensor` read `other` instead; `other` is written before them.
  void Replace(TensorId tensor, TensorId other) { replaced_[tensor.index()] = other; }
  // Follows Replace.
  TensorId Current(TensorId tensor) const;
  void TakeCurrent(Op& op) const;

  bool changed() const { return changed_; }
  void Finish();

 private:
  // Equal attributes of new ops are one object, as those of a built graph are.
  AttributesRef Shared(AttributesRef attributes);
  // The name, or with a number behind it, that none of the records has; it is `number`'s from now on.
  template <typename NameOf>
  std::string UniqueName(NameTable& taken, const NameOf& name_of, size_t number, std::string name);
  void KnowNames();
  Tensor& NewTensor(std::string name, TensorType type);

  Graph& graph_;
  std::vector<bool> kept_, removed_;
  std::vector<TensorId> replaced_;
  std::deque<Op> added_;
  std::vector<std::pair<size_t, size_t>> places_;  // of added_: position, number
  std::vector<const Op*> producers_;               // per tensor
  NameTable tensor_names_, op_names_;  // by number, those of added_ behind the graph's; empty until one is asked for
  bool names_known_ = false;
  std::unordered_set<size_t> taken_over_;  // removed ops whose names new ones have
  std::map<std::vector<int64_t>, TensorId> ints_;
  std::unordered_multimap<size_t, AttributesRef> attributes_;  // of added_, by hash
  bool changed_ = false;
};

}  // namespace sbp
