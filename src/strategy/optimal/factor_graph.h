// The factor graph of the bound in layout_bound.h: variables are the layouts of tensors in one place each; factors are
// ops (one candidate fits all its variables) and tensors (boxing between them, tensor_factor.h). Structure alone: what
// the bound moves along its links is the bound's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/ids.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "strategy/optimal/layout_graph.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/tensor_factor.h"

namespace sbp {

class FactorGraph {
 public:
  // A variable, between a tensor's factor and what it is for.
  struct Link {
    uint32_t tensor = 0;  // index of the factor
    uint32_t other = 0;   // op, or (tie) the factor of the source
    bool tie = false;
    uint32_t slot = 0;     // operands, then results
    bool written = false;  // by `other`; else read
    const std::vector<uint32_t>* numbers =
        nullptr;  // of the layouts in the tensor's graph: one object per class, slot, type
  };
  struct TensorPart {
    TensorId tensor;
    TensorFactor factor;
    std::vector<uint32_t> start = {};  // sources: how they may lie
    std::vector<uint32_t> ends = {};   // outputs: how they may be left, as one more reader; empty: in any way
    int64_t runs = 1;                  // how often each of the readers that are left runs
  };
  struct Node {  // of the order: an op or a tensor's factor
    bool op;
    uint32_t index;
  };

  // The problem must outlive it. Tensors whose layout graphs would be too large have no factor: they cost nothing in
  // the bound. Time and memory are bounded by the arcs of all layout graphs together, then linear in operands.
  FactorGraph(const Problem& problem, const PriceWeights& weights);
  FactorGraph(const FactorGraph&) = delete;  // links and factors point into it
  FactorGraph& operator=(const FactorGraph&) = delete;

  const std::vector<Link>& links() const { return links_; }
  const Link& link(size_t index) const { return links_[index]; }
  const std::vector<TensorPart>& factors() const { return factors_; }
  // Tensors stand after their producers; sources before their first reader.
  const std::vector<Node>& order() const { return order_; }
  // Indices of links. A tie is a link of the factor of its output, and stands apart at that of its source.
  const std::vector<uint32_t>& links_of_op(size_t op) const { return links_of_op_[op]; }
  const std::vector<uint32_t>& links_of_factor(size_t factor) const { return links_of_factor_[factor]; }
  const std::vector<uint32_t>& ties_of_factor(size_t factor) const { return ties_of_factor_[factor]; }
  // Tensors of one number have one type and one weight.
  uint32_t type_of(TensorId tensor) const { return type_of_[tensor.index()]; }
  bool is_accumulator(TensorId tensor) const { return accumulators_.contains(tensor); }
  const SlotLayouts& SlotOf(OpId op, uint32_t slot) const;
  // Are all of the op's candidates listed? Else no link leads to it.
  bool IsWhole(OpId op) const { return !problem_.candidates(op).truncated; }

 private:
  void MakeGraphs(const PriceWeights& weights);
  void NoteKinds(std::vector<std::set<Sbp>>& kinds) const;
  const std::vector<uint32_t>* NumbersOf(OpId op, uint32_t slot, TensorId tensor);
  void AddLink(const Link& link);
  void MakeFactors();
  int64_t RunsOfFactor(TensorId tensor) const;
  std::vector<uint32_t> EndsOf(TensorId tensor, const LayoutGraph& graph) const;
  void AddFactor(TensorId tensor, TensorId tied_to, bool is_tied_source);
  void Order();

  const Problem& problem_;
  std::vector<uint32_t> type_of_;  // per tensor
  std::vector<std::unique_ptr<LayoutGraph>> graphs_;
  std::map<std::array<uint32_t, 3>, std::unique_ptr<std::vector<uint32_t>>> numbers_;
  std::vector<TensorPart> factors_;
  std::set<TensorId> accumulators_;
  std::vector<int32_t> factor_of_;  // per tensor; -1
  std::vector<Link> links_;
  std::vector<std::vector<uint32_t>> links_of_op_, links_of_factor_, ties_of_factor_;
  std::vector<Node> order_;
};

}  // namespace sbp
