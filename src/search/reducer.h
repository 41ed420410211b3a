// The working state of the reductions in reduce.h: nodes and edges die, indices stay. Reading a network, rounds and the
// core that is left are in reducer.cc, what is done to nodes and edges in reducer_nodes.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/status.h"
#include "search/core.h"
#include "search/cost_network.h"
#include "search/kernels.h"
#include "search/matrices.h"
#include "search/reduce.h"

namespace sbp {

class Reducer {
 public:
  Reducer(const CostNetwork& network, const Reduction::Options& options)
      : network_(network),
        stop_(options.stop),
        kept_node_(options.kept_node),
        memory_(options.memory != nullptr ? *options.memory : own_memory_) {
    result_.core_.shared_matrices = memory_.matrices_;
  }

  Result<Reduction> Run();

 private:
  using Node = Core::Node;
  using Edge = Core::Edge;

  int32_t Size() const { return static_cast<int32_t>(nodes_.size()); }
  Matrices& matrices() { return *memory_.matrices_; }
  int32_t Candidates(int32_t node) const { return static_cast<int32_t>(nodes_[node].costs.size()); }

  void Load();
  TableLines Lines(const CostNetwork::Lines& lines) const;
  Status LoadTimeline();
  Status Compress();
  Status Settle();
  void Pack();

  void DropForbidden(int32_t node);
  // `instead` names a candidate (as numbered before) for each one dropped, or is empty.
  void Keep(int32_t node, std::vector<int32_t> kept, std::vector<int32_t> instead = {});
  void Inspect(int32_t edge);
  void Merge(int32_t node, int32_t of, MapId map);
  void Unhook(int32_t edge);
  // In the order in which they came.
  const std::vector<int32_t>& EdgesOf(int32_t node);
  void Attach(int32_t a, int32_t b, MatrixId matrix);
  bool DropOversized();
  bool DropDominated();
  bool DropDominated(int32_t node);
  bool Eliminate();
  bool EliminateNode(int32_t node);
  void TakeLeast(int32_t node);
  // Asked at every node of a loop; asks itself at some.
  bool Stopped(int32_t node) {
    constexpr int32_t kNodes = 16;
    if (!stopped_ && stop_ && node % kNodes == 0) stopped_ = stop_();
    return stopped_;
  }
  int32_t Other(int32_t edge, int32_t node) const {
    return edges_[edge].nodes[0] == node ? edges_[edge].nodes[1] : edges_[edge].nodes[0];
  }
  // The matrix of an edge with the candidates of `node` as rows.
  MatrixId From(int32_t edge, int32_t node) {
    return edges_[edge].nodes[0] == node ? edges_[edge].matrix : matrices().Transpose(edges_[edge].matrix);
  }
  // The node's candidates, costs or edges.
  void Changed(int32_t node) { unchecked_[node] = untried_[node] = 1; }
  void Touch(int32_t edge) {
    if (!queued_[edge]) queue_.push_back(edge);
    queued_[edge] = 1;
  }

  const CostNetwork& network_;
  const std::function<bool()>& stop_;
  bool stopped_ = false;
  int32_t kept_node_;  // or what it was merged into; -1: none
  ReductionMemory own_memory_;
  ReductionMemory& memory_;
  Reduction result_;
  std::vector<Node> nodes_;
  std::vector<char> alive_, dead_edges_;  // per node; whether some of its edges are unhooked but still listed
  std::vector<Edge> edges_;
  std::vector<char> edge_alive_, queued_;
  std::deque<int32_t> queue_;
  std::vector<double> limits_;
  std::vector<int64_t> times_;  // of a step
  // Rounds look only at what has changed since the round before, so that a graph whose reductions follow from one
  // another over its whole length takes no time for what does not change.
  std::vector<char> unchecked_;  // nodes to try for domination again
  std::vector<char> untried_;    // nodes to try for elimination again
  bool holds_changed_ = true;    // candidates of a node that holds memory
  LineScratch line_scratch_;
  int32_t empty_ = -1;  // a node without a candidate
};

}  // namespace sbp
