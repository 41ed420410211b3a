// A lower bound by block-coordinate ascent on the dual of the local-polytope relaxation, with a Lagrange multiplier per
// time step for memory. The messages are those of SRMP (Kolmogorov, "A new look at reweighted message passing", 2015):
// passes over the nodes, forwards and backwards, in which a node collects from the edges behind it and hands equal
// shares to those ahead. Costs are moved in whole numbers only, so that each bound is exact.
//
// With `shift` the costs moved from an edge to its ends, a node's cost is
//   reduced(v, a) = cost(v, a) + sum of multiplier x usage + sum of shift of its edges,
// an edge's is matrix(a, b) - shift(a) - shift(b), and the bound the sum of all minima less multipliers x limits.
// Multipliers change in place: the messages stay good ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "search/core.h"
#include "search/excess_tree.h"
#include "search/folded_core.h"
#include "search/kernels.h"

namespace sbp {

class DualAscent {
 public:
  explicit DualAscent(const Core& core);

  // Begins with the messages of a folded core's dual: each edge gets its share of those of the edge it stands for.
  void Begin(const DualAscent& folded, const FoldedCore& fold);

  // A pass over all nodes, in the other direction than the last one; returns the bound, the constant included.
  double Pass();
  double bound() const;

  std::span<const double> multipliers() const { return multipliers_; }
  void SetMultipliers(std::span<const double> multipliers);  // >= 0 each

  // A choice read off the messages of the last pass: each node's best, given those already chosen. Where `fitting`, a
  // candidate that exceeds the limit beside those is avoided if possible.
  std::vector<int32_t> Round(bool fitting) const;
  // What is left of costs: all >= 0, at any time; bound() added to them gives the whole.
  std::span<const double> reduced(int32_t node) const {
    return {reduced_.data() + begin_[node], core_.nodes[node].costs.size()};
  }
  // What was moved from an edge to its end `node`, per candidate.
  const double* shift(int32_t edge, int32_t node) const { return shifts_.data() + ShiftOf(edge, node); }
  // The best bound so far, the constant included, on the cost of any choice with candidate `a` of `node`: entry
  // forced(node)[a]. (Min-marginals, and lower bounds of them.)
  std::span<const double> forced(int32_t node) const {
    return {forced_.data() + begin_[node], core_.nodes[node].costs.size()};
  }
  // Entries of matrices that a pass looks at: its work.
  int64_t pass_work() const { return pass_work_; }

 private:
  struct Half {
    const Core::Link* link;
    int32_t shift_own;  // where the costs moved to this end begin
    int32_t shift_other;
  };
  // Where what was moved from an edge to its end `node` begins in shifts_.
  int32_t ShiftOf(int32_t edge, int32_t node) const {
    const int32_t first = std::min(core_.edges[edge].nodes[0], core_.edges[edge].nodes[1]);
    return shift_begin_[edge] + (node == first ? 0 : core_.candidates(first));
  }
  void TakeLeast(int32_t node);  // moves the least of its costs into the bound
  void Visit(int32_t node, std::span<const Half> behind, std::span<const Half> ahead);
  int32_t BestFitting(int32_t node, std::vector<double>& costs, const ExcessTree& usage) const;

  const Core& core_;
  std::vector<int32_t> begin_;  // of a node's candidates in reduced_ and priced_
  std::vector<double> reduced_;
  std::vector<double> priced_;  // what the multipliers add, part of reduced_
  std::vector<double> forced_;
  std::vector<double> shifts_;
  std::vector<int32_t> shift_begin_;               // of an edge, the end of lower number first
  std::vector<std::vector<Half>> before_, after_;  // of a node, by the order of nodes
  std::vector<double> multipliers_;
  std::vector<double> scratch_;
  LineScratch line_scratch_;
  double base_ = 0;  // moved out of the nodes into the bound
  double price_of_limits_ = 0;
  bool forwards_ = false;
  int64_t pass_work_ = 0;
};

}  // namespace sbp
