// A Problem as a CostNetwork: choosing signatures and layouts is choosing one candidate per node. The sum of its costs
// is the step time that the evaluator finds for the assignment.
//
// Nodes: one per op (its candidates that the pins allow; compute seconds). One per input or parameter that somebody
// reads, and one per tensor that several ops read: how it is written, and its hub, one more layout in which it is made
// available to all readers (strategy/transitions.h: the trees of boxing that the evaluator builds have one hub). Under
// a memory limit also one per tensor that one op reads much later, and late readers of a tensor (those behind the
// longest time in which nobody reads it) find a hub that is smaller in its place: they read that alone
// (memory/shrink.h). Edges: producer - tensor and tensor - reader, the seconds of the boxing between them. A tensor
// that a pin lets stand in one layout (problem/demands.h) has a node as a source has, to which its producer boxes; a
// tie is a reader; how an output must end is a cost of its tensor's states, or of its producer where nobody reads it.
//
// One thing a sum over pairs cannot say: where three or more ops read, and two of them want the same layout that is
// neither the written one nor the hub, the evaluator pays for it once and the network twice. The network is never below
// the evaluator, and seldom above it. The relaxed network divides such prices by how many may share, and leaves hubs
// out that are made without communication: it is never above the evaluator, so that its lower bound holds for plans.
// Where an op's list of candidates was cut, that is so of the candidates that were cut off, too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "search/cost_network.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/strategy.h"

namespace sbp {

struct LayoutNetworkOptions {
  std::optional<int64_t> memory_limit;  // bytes per device
  bool relaxed = false;
  // Seconds per byte that every boxed copy costs beside its boxing: what makes a search look for plans with fewer.
  double copy_price = 0;
  // Only these candidates, and only layouts that they use: a network of some plans. It is then `relaxed` in the sense
  // of its prices only: a bound of it says nothing of other plans. Null: all that are worth a look.
  const CandidateLists* lists = nullptr;
  const Assignment* start = nullptr;  // with `lists`: sources may lie as they do here, too
  // Null: prices as they are. Else costs are the evaluator's prices weighted so, and the relaxed network is never above
  // those: plans still take the paths and hubs of fewest seconds.
  const PriceWeights* weights = nullptr;
};

class LayoutNetwork {
 public:
  // Error (kNoPlan): pins leave an op without a candidate, or forbid every assignment. The problem outlives this.
  // Memory and time grow with the square of the layouts of a tensor: FitsNetwork says whether they are few enough.
  // With a limit, nodes also hold bytes over the ops of the step (time step o: while op o runs; one more at the end).
  explicit LayoutNetwork(const Problem& problem) : lists_(problem) {}
  static Result<LayoutNetwork> Build(const Problem& problem, const LayoutNetworkOptions& options = {});

  const CostNetwork& network() const { return network_; }
  // Another limit in place of the one that it was built with.
  void SetMemoryLimit(int64_t bytes) { network_.usage_limit = bytes; }
  // Bytes that are taken whatever is chosen, per op and at the end of the step (num_ops + 1 numbers), in place of those
  // named before: what plans hold that the network does not count. Choices made before have other sizes.
  void Reserve(std::span<const int64_t> bytes);
  // A choice made when other bytes were reserved, as one of now.
  std::vector<int32_t> AsReserved(std::vector<int32_t> choice) const;
  // What a choice holds at each of these times, without what is reserved.
  std::vector<int64_t> HeldBy(std::span<const int32_t> choice) const;
  // What a choice of the network means: a candidate per op (an index into its whole list) and where sources start.
  void Read(std::span<const int32_t> choice, Assignment& assignment) const;
  // The choice that means this assignment, hubs and shared layouts as cheap as they come. Error (kDefect): the
  // assignment uses a candidate that the pins forbid.
  Result<std::vector<int32_t>> Write(const Assignment& assignment) const;
  // Per node, what it chooses among: nodes of one number have the same candidates in the same order. The nodes that
  // stand for reserved bytes, which come last, have none.
  std::vector<int32_t> Kinds() const;
  // The node of an op; nodes of ops come first.
  static int32_t node_of(OpId op) { return static_cast<int32_t>(op.index()); }
  // Per candidate of that node: the index into the op's whole list.
  std::span<const uint32_t> candidates_of(OpId op) const { return lists_.of(op); }

 private:
  friend class LayoutNetworkBuilder;
  struct States {
    std::vector<NdSbp> written, hubs;  // per state
  };
  // A tensor with a node of its own.
  struct TensorNode {
    TensorId tensor;
    int32_t node = 0;
    std::shared_ptr<const States> states;  // of all tensors that are alike
  };
  // Holds a result of an op that holds another one itself.
  struct HolderNode {
    int32_t producer = 0;
    int32_t node = 0;
    std::vector<int32_t> state_of_candidate;
  };

  void ChooseHubs(std::vector<int32_t>& choice) const;

  const Problem* problem_ = nullptr;
  CostNetwork network_;
  std::optional<size_t> first_reserved_;  // nodes that stand for reserved bytes come last
  int32_t free_row_ = -1;                 // of network_.costs: one candidate of no cost
  CandidateLists lists_;
  std::vector<TensorNode> tensor_nodes_;
  std::vector<HolderNode> holder_nodes_;
};

}  // namespace sbp
